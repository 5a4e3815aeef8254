# A back end of omniidl that prints what the test compares: name, repository id and whether it is in the
# main file, for each declaration; and the value of each constant. Run by tests/omniidl.rs.
from omniidl import idlast, idlutil, idlvisitor


class Printer(idlvisitor.AstVisitor):
    def line(self, node):
        name = idlutil.ccolonName(node.scopedName()).lstrip(":")
        print("id", name, node.repoId(), "main" if node.mainFile() else "included")

    def nested(self, member, type_of):
        if member.constrType():
            type_of().decl().accept(self)

    def all(self, nodes):
        for node in nodes:
            node.accept(self)

    def visitAST(self, node):
        self.all(node.declarations())

    def visitModule(self, node):
        self.all(node.definitions())

    def visitInterface(self, node):
        self.line(node)
        self.all(node.contents())

    def visitConst(self, node):
        self.line(node)
        kind = node.constType().unalias().kind()
        if kind not in (6, 7, 21, 26):  # float, double, long double, wide character
            name = idlutil.ccolonName(node.scopedName()).lstrip(":")
            value = node.value()
            shown = value.identifier() if isinstance(value, idlast.Enumerator) else value
            print("const", name, shown)

    def visitTypedef(self, node):
        self.nested(node, node.aliasType)
        for declarator in node.declarators():
            self.line(declarator)

    def visitStruct(self, node):
        self.line(node)
        for member in node.members():
            self.nested(member, member.memberType)

    visitException = visitStruct

    def visitUnion(self, node):
        self.line(node)
        for case in node.cases():
            self.nested(case, case.caseType)

    def visitEnum(self, node):
        self.line(node)

    def visitOperation(self, node):
        self.line(node)

    def visitAttribute(self, node):
        for declarator in node.declarators():
            self.line(declarator)

    def visitValue(self, node):
        self.line(node)
        self.all(node.contents())

    def visitValueAbs(self, node):
        self.visitValue(node)

    def visitValueBox(self, node):
        self.line(node)

    def visitNative(self, node):
        self.line(node)


def run(tree, arguments):
    tree.accept(Printer())
