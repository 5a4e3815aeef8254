# A back end of omniidl that prints scoped name and repository id of every type that AMI implies in the
# main file. Run by tests/implied.rs.
from omniidl import idlast, idlutil, idlvisitor
from omniidl_be import ami


class Printer(idlvisitor.AstVisitor):
    def visitAST(self, node):
        for declaration in node.declarations():
            declaration.accept(self)

    def visitModule(self, node):
        for declaration in node.definitions():
            declaration.accept(self)

    def implied(self, node):
        if hasattr(node, "_ami_gen") and node.mainFile():
            print(idlutil.ccolonName(node.scopedName()).lstrip(":"), node.repoId())

    def visitInterface(self, node):
        self.implied(node)

    def visitValueAbs(self, node):
        self.implied(node)


def run(tree, arguments):
    visitor = ami.AMIVisitor(1)
    tree.accept(visitor)
    tree.accept(Printer())
