//! Every diagnostic code: an input that produces it, and what is said.
//! A code without an example fails the build, so the table of codes stays honest.

mod support;

use std::collections::BTreeSet;

use corbie_frontend::{
    Code, Compilation, LoadError, LoadedSource, MemoryLoader, Options, SourceLoader, compile,
};
use expect_test::expect;
use support::check;

/// One input for each code; more for codes with several causes.
const EXAMPLES: &[(Code, &str)] = &[
    (Code::FileNotFound, "#include \"missing.idl\"\n"),
    (Code::FileUnreadable, "#include \"unreadable.idl\"\n"),
    (Code::FileTooLarge, "#include \"large.idl\"\n"),
    (Code::IncludeTooDeep, "#include \"test.idl\"\n"),
    (Code::IncludeSyntax, "#include missing\n"),
    (Code::IncludeSyntax, "#include\n"),
    (Code::IncludeSyntax, "#include \"missing\n"),
    (Code::UnknownDirective, "#inclde \"x\"\n"),
    (Code::DirectiveSyntax, "#define\n"),
    (Code::DirectiveSyntax, "#define F(a,\n"),
    (Code::DirectiveSyntax, "#define defined\n"),
    (Code::DirectiveSyntax, "#undef\n"),
    (Code::DirectiveSyntax, "#ifdef A B\n#endif\n"),
    (Code::DirectiveSyntax, "#line x\n"),
    (Code::UnbalancedConditional, "#endif\n"),
    (Code::UnbalancedConditional, "#ifdef A\n#else\n#else\n#endif\n"),
    (Code::UnterminatedConditional, "#ifdef A\n"),
    (Code::ConditionSyntax, "#if 1 +\n#endif\n"),
    (Code::ConditionSyntax, "#if 1 / 0\n#endif\n"),
    (Code::ConditionSyntax, "#if \"x\"\n#endif\n"),
    (Code::ConditionSyntax, "#if 1 1\n#endif\n"),
    (Code::UserError, "#error this is wrong, isn't it\n"),
    (Code::UserWarning, "#warning careful\n"),
    (Code::MacroRedefined, "#define A 1\n#define A 2\n"),
    (Code::MacroArguments, "#define F(a) a\nF(struct S {}; , x)\n"),
    (Code::MacroArguments, "#define F(a) a\nF(x\n"),
    (Code::MacroTooLarge, "#define F(x) x x x x x x x x\nF(F(F(F(F(F(F(F(F(a)))))))))\n"),
    (Code::PragmaSyntax, "#pragma prefix omg.org\n"),
    (Code::PragmaSyntax, "interface I {};\n#pragma version I 2\n"),
    (Code::PragmaSyntax, "interface I {};\n#pragma ID I\n"),
    (Code::UnterminatedComment, "/* x\n"),
    (Code::UnterminatedLiteral, "const string S = \"abc;\n"),
    (Code::UnterminatedLiteral, "const char C = 'a;\n"),
    (Code::UnexpectedCharacter, "const long L = 1 $;\n"),
    (Code::UnexpectedCharacter, "interface Käse {};\n"),
    (Code::BadEscape, "const string S = \"\\q\";\n"),
    (Code::BadEscape, "const string S = \"\\x\";\n"),
    (Code::BadEscape, "const string S = \"\\u1234\";\n"),
    (Code::BadEscape, "const wchar S = L'\\ud800';\n"),
    (Code::BadEscape, "const char S = '\\777';\n"),
    (Code::BadCharacterLiteral, "const char C = 'ab';\n"),
    (Code::BadCharacterLiteral, "const char C = '';\n"),
    (Code::BadNumber, "const long L = 089;\n"),
    (Code::BadNumber, "const long L = 0x;\n"),
    (Code::BadNumber, "const long L = 12ul;\n"),
    (Code::BadNumber, "const double D = 1e;\n"),
    (Code::NumberTooLarge, "const unsigned long long L = 18446744073709551616;\n"),
    (Code::NulInString, "const string S = \"a\\0b\";\n"),
    (Code::CharacterRange, "const char C = '€';\n"),
    (Code::CharacterRange, "const wchar C = L'😀';\n"),
    (Code::Expected, "interface I { void f(long l); };\n"),
    (Code::Expected, "struct S { long l }\n"),
    (Code::Expected, "strcut S { long l; };\n"),
    (Code::Expected, "interface I {};\n}; interface J {};\n"),
    (Code::Expected, "interface I { interface J {}; };\n"),
    (Code::Expected, "enum E { a, b, };\n"),
    (Code::Expected, "interface I { attribute long l raises(E); };\n"),
    (Code::Expected, "module M { struct S {};\n"),
    (Code::NestingTooDeep, "typedef sequence<sequence<sequence<sequence<long> > > > T;\n"),
    (Code::ReservedWord, "interface I { void any(); };\n"),
    (Code::KeywordCase, "interface I { void Any(); };\n"),
    (Code::NotSupported, "bitset B { bitfield<3> a; };\n"),
    (Code::NotSupported, "bitmask M { a };\n"),
    (Code::NotSupported, "struct S { map<long, string> m; };\n"),
    (Code::NotSupported, "module T<typename X> {};\n"),
    (Code::EmptyDefinition, "enum E {};\n"),
    (Code::EmptyDefinition, "union U switch (long) {};\n"),
    (Code::NewKeyword, "struct S { unsigned short port; };\n"),
    (Code::NewKeyword, "typedef Object Factory;\n"),
    (Code::AnnotationMisplaced, "module M { @key };\n"),
    (Code::EmptyFile, "// not yet\n"),
    (Code::EmptyFile, "#ifdef NEVER\ninterface I {};\n#endif\n"),
    (Code::NotFound, "struct S { Strin a; Strin b; };\n"),
    (Code::NotFound, "module M {}; typedef M::X Y;\n"),
    (Code::NotFound, "module M { struct Deep {}; }; typedef Deep Y;\n"),
    (Code::Redefinition, "struct S {}; interface S {};\n"),
    (Code::CaseClash, "struct Abc {}; interface ABC {};\n"),
    (Code::CaseMismatch, "struct Abc {}; typedef abc X;\n"),
    (Code::RedefinitionAfterUse, "typedef long T; interface I { void f(in T x); struct T {}; };\n"),
    (Code::NameOfScope, "interface I { void I(); };\n"),
    (
        Code::AmbiguousName,
        "interface A { struct S {}; }; interface B { struct S {}; };\n\
         interface C : A, B { void f(in S s); };\n",
    ),
    (Code::InheritedClash, "interface A { void f(); }; interface B : A { void F(); };\n"),
    (
        Code::InheritedClash,
        "interface A { void f(); }; interface B { attribute long f; };\ninterface C : A, B {};\n",
    ),
    (Code::WrongKind, "const long L = 1; typedef L T;\n"),
    (Code::WrongKind, "struct S {}; interface I { void f() raises (S); };\n"),
    (Code::WrongKind, "enum E { a }; typedef E::a T;\n"),
    (Code::WrongKind, "struct S {}; const long L = S;\n"),
    (Code::ForwardOnly, "interface I; typedef sequence<I> S;\n"),
    (Code::NeverDefined, "struct S; typedef sequence<S> T;\n"),
    (Code::IncompleteType, "struct S { S again; };\n"),
    (
        Code::IncompleteType,
        "union U; struct S { U x[3]; }; union U switch (long) { case 1: long l; };\n",
    ),
    (Code::IncompleteType, "struct S; interface I { S f(); }; struct S {};\n"),
    (
        Code::IncompleteType,
        "struct S; typedef sequence<S> L; interface I { void f(in L l1); }; struct S {};\n",
    ),
    (Code::IncompleteType, "interface I; interface J : I {}; interface I {};\n"),
    (Code::ForwardMismatch, "interface I; local interface I {};\n"),
    (Code::ForwardMismatch, "abstract valuetype V; valuetype V {};\n"),
    (Code::ScopeCase, "struct Right { string right; };\n"),
    (Code::DuplicateBase, "interface A {}; interface B : A, A {};\n"),
    (Code::BadBase, "local interface A {}; interface B : A {};\n"),
    (Code::BadBase, "valuetype A {}; valuetype B {}; valuetype C : A, B {};\n"),
    (Code::BadBase, "valuetype A {}; abstract valuetype B : A {};\n"),
    (Code::OnewayRules, "exception E {}; interface I { oneway long f(out long l) raises (E); };\n"),
    (Code::LocalType, "local interface L {}; interface I { attribute L l; };\n"),
    (Code::VoidType, "struct S { void v; };\n"),
    (Code::BadDiscriminator, "union U switch (float) { case 1: long l; };\n"),
    (Code::DuplicateLabel, "union U switch (long) { case 1: long a; case 2 - 1: long b; };\n"),
    (Code::DuplicateLabel, "union U switch (long) { default: long a; default: long b; };\n"),
    (
        Code::NeedlessDefault,
        "union U switch (boolean) { case TRUE: long a; case FALSE: long b; default: long c; };\n",
    ),
    (Code::BadBound, "typedef long A[0];\n"),
    (Code::BadBound, "typedef string<-1> A;\n"),
    (Code::BadBound, "typedef sequence<long, 4294967296> A;\n"),
    (Code::BadFixed, "typedef fixed<32, 2> A;\n"),
    (Code::BadFixed, "typedef fixed<3, 4> A;\n"),
    (Code::ValueRules, "abstract valuetype V { public long l; };\n"),
    (Code::ValueRules, "valuetype A {}; custom valuetype V : truncatable A {};\n"),
    (Code::ValueRules, "valuetype A {}; valuetype B A;\n"),
    (Code::ValueRules, "interface A {}; interface B {}; valuetype V supports A, B {};\n"),
    (Code::ValueRules, "abstract valuetype V { factory f(); };\n"),
    (Code::FactoryParameter, "valuetype V { factory f(out long l); };\n"),
    (
        Code::RepositoryIdConflict,
        "interface I {};\n#pragma ID I \"IDL:a:1.0\"\n#pragma ID I \"IDL:b:1.0\"\n",
    ),
    (Code::RepositoryIdConflict, "interface I {};\n#pragma version I 1.1\n#pragma version I 1.2\n"),
    (Code::RepositoryIdConflict, "interface I;\n#pragma prefix \"x\"\ninterface I {};\n"),
    (Code::BadRepositoryId, "interface I {};\n#pragma ID I \"none\"\n"),
    (Code::BadRepositoryId, "#pragma prefix \"a b\"\n"),
    (Code::BadConstantType, "const any A = 1;\n"),
    (Code::BadContext, "interface I { void f() context (\"*\"); };\n"),
    (Code::SameRepositoryId, "interface I {}; interface J {};\n#pragma ID J \"IDL:I:1.0\"\n"),
    (Code::ComponentRules, "struct S {}; component C { provides S s; };\n"),
    (Code::AnonymousType, "interface I { sequence<long> f(); };\n"),
    (Code::AnnotationRange, "@bit_bound(65) enum E { A };\n"),
    (Code::ConstantType, "const long L = \"x\";\n"),
    (Code::ConstantType, "const wchar C = 'x';\n"),
    (Code::ConstantType, "const long L = 1.0;\n"),
    (Code::ConstantType, "enum A { a1 }; enum B { b1 }; const A C = b1;\n"),
    (Code::ConstantRange, "const octet O = 256;\n"),
    (Code::ConstantRange, "const unsigned long U = -1;\n"),
    (Code::ConstantRange, "const float F = 1e39;\n"),
    (Code::ConstantRange, "const fixed F = 12345678901234567890123456789012d;\n"),
    (Code::ConstantRange, "typedef fixed<3,1> T; const T F = 123.4d;\n"),
    (Code::DivisionByZero, "const long L = 1 / (2 - 2);\n"),
    (Code::DivisionByZero, "const double D = 1.0 / 0.0;\n"),
    (Code::BadOperand, "const double D = 1.0 % 2.0;\n"),
    (Code::BadOperand, "const string S = \"a\" + \"b\";\n"),
    (Code::ShiftRange, "const long L = 1 << 64;\n"),
    (Code::StringTooLong, "const string<2> S = \"abc\";\n"),
    (Code::ConstantTooComplex, "const double D = 1e4000 * 1e4000 * 1e4000 / 1e4000;\n"),
    (Code::TooManyDiagnostics, "$$$$$$$$$$$$$$$$$$$$$$$$$$$$$$$$$$$$$$$$$$$$\n"),
    (
        Code::TooMuchInput,
        "struct S { long a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t; long \
         u, v, w, x, y, z, aa, ab, ac, ad, ae, af, ag, ah, ai, aj, ak, al, am, an, ao, ap, aq, \
         ar, as, at, au, av, aw, ax, ay, az; };\n",
    ),
    (
        Code::ImpliedClash,
        "// implied\nmodule Messaging { interface ReplyHandler {}; }; interface X {};\n",
    ),
    (Code::UnknownOperation, "// implied, AMH of Quoter::quote\ninterface X { void quote(); };\n"),
    (
        Code::UnknownOperation,
        "// implied, AMH of Quoter::quote\ninterface Quoter { attribute long quotes; };\n",
    ),
];

/// A loader with a file that cannot be read.
struct Loader(MemoryLoader);

impl SourceLoader for Loader {
    fn load(
        &self,
        path: &str,
        include_from: Option<&str>,
        system: bool,
    ) -> Result<LoadedSource, LoadError> {
        match path {
            "unreadable.idl" => Err(LoadError::Failed("permission denied".into())),
            "large.idl" => Ok(LoadedSource { name: path.into(), octets: vec![b' '; 5000] }),
            _ => self.0.load(path, include_from, system),
        }
    }
}

/// Examples that begin with `// implied` are compiled with implied IDL.
fn compile_example(text: &str) -> Compilation {
    let mut options = Options::new();
    options.implied.ami_callback = text.starts_with("// implied");
    if text.starts_with("// implied, AMH of ") {
        options.implied.amh_operations = vec![("Quoter".to_owned(), vec!["quote".to_owned()])];
    }
    options.limits.file_octets = 2_000;
    options.limits.include_depth = 3;
    options.limits.macro_tokens = 10_000;
    options.limits.diagnostics = 40;
    options.limits.tokens = 100;
    options.limits.nesting = 4;
    compile("test.idl", &Loader(MemoryLoader::new().file("test.idl", text)), &options)
}

#[test]
fn every_code_has_an_example() {
    let shown: BTreeSet<Code> = EXAMPLES.iter().map(|(code, _)| *code).collect();
    // Codes 600 to 699 are raised, and tested, by the generator.
    let own = |code: &Code| !(600..700).contains(&code.number());
    let all: BTreeSet<Code> = Code::ALL.iter().copied().filter(own).collect();
    let without: Vec<_> = all.difference(&shown).collect();
    assert!(without.is_empty(), "codes without an example: {without:?}");
}

#[test]
fn every_example_produces_its_code() {
    for (code, text) in EXAMPLES {
        let found: Vec<Code> = compile_example(text).diagnostics.iter().map(|d| d.code).collect();
        assert!(found.contains(code), "{code} ({code:?}) expected, found {found:?} in:\n{text}");
    }
}

#[test]
fn numbers_are_unique_and_sorted() {
    let numbers: Vec<u16> = Code::ALL.iter().map(|code| code.number()).collect();
    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
}

#[test]
fn every_diagnostic_has_a_place() {
    for (_, text) in EXAMPLES {
        for diagnostic in compile_example(text).diagnostics {
            let place = &diagnostic.position;
            assert!(place.line > 0 && place.column > 0 && !place.file.is_empty(), "{diagnostic:?}");
        }
    }
}

/// A hint in lines of at most 80 characters.
fn wrapped(hint: &str) -> String {
    let mut out = String::from("    hint:");
    let mut length = out.len();
    for word in hint.split(' ') {
        if length + word.len() > 80 {
            out += "\n         ";
            length = 9;
        }
        out += &format!(" {word}");
        length += word.len() + 1;
    }
    out + "\n"
}

/// The wording of all of them, to be read in reviews.
#[test]
fn wording() {
    let mut out = String::new();
    for (_, text) in EXAMPLES {
        for diagnostic in compile_example(text).diagnostics.iter().take(3) {
            out += &format!("{diagnostic}\n");
            if !diagnostic.hint.is_empty() {
                out += &wrapped(&diagnostic.hint);
            }
        }
    }
    expect![[r#"
        test.idl:1:10: error[E0001]: there is no file `missing.idl`
            hint: add the folder that has it with -I (tried `missing.idl`)
        test.idl:1:10: error[E0002]: cannot read `unreadable.idl`: permission denied
        test.idl:1:10: error[E0003]: `large.idl` has 5000 octets; the limit is 2000
            hint: split the file, or raise `Limits::file_octets`
        test.idl:1:10: error[E0004]: files include each other deeper than 3
            hint: does a file include itself? guard it with `#pragma once`
        test.idl:1:10: error[E0005]: this `#include` names no file
            hint: write `#include "file"` or `#include <file>`
        test.idl:1:1: error[E0005]: this `#include` names no file
            hint: write `#include "file"` or `#include <file>`
        test.idl:1:10: error[E0005]: this `#include` names no file
            hint: write `#include "file"` or `#include <file>`
        test.idl:1:1: error[E0006]: `#inclde` is not a directive
            hint: there are #include, #define, #undef, #if, #ifdef, #ifndef, #elif,
                  #else, #endif, #error, #warning, #line and #pragma
        test.idl:1:1: error[E0007]: `#define` needs a name
            hint: write `#define NAME text` or `#define NAME(parameter) text`
        test.idl:1:10: error[E0007]: this is not a list of macro parameters
            hint: write names separated by commas, then `)`
        test.idl:1:9: error[E0007]: `defined` cannot be defined
            hint: choose another name
        test.idl:1:1: error[E0007]: `#undef` needs the name of a macro
            hint: write a name after it
        test.idl:1:10: error[E0007]: `B` has no meaning here
            hint: put it on the next line, or after `//`
        test.idl:1:1: error[E0007]: this is not a line number
            hint: write `#line number` or `#line number "file"`
        test.idl:1:1: error[E0008]: `#endif` without `#if`
            hint: remove it, or add the `#if`
        test.idl:3:1: error[E0008]: `#else` after the `#else` of the same conditional
            hint: is an `#endif` missing before it?
        test.idl:1:1: error[E0009]: this conditional is never closed
            hint: add `#endif`
        test.idl:1:1: error[E0010]: a value is missing at the end of this condition
            hint: conditions are integers, macros, `defined(NAME)` and C operators
        test.idl:1:7: error[E0010]: division by zero, or shift out of range
            hint: conditions are integers, macros, `defined(NAME)` and C operators
        test.idl:1:5: error[E0010]: `"x"` is not an integer
            hint: conditions are integers, macros, `defined(NAME)` and C operators
        test.idl:1:7: error[E0010]: `1` has no meaning here
            hint: conditions are integers, macros, `defined(NAME)` and C operators
        test.idl:1:1: error[E0011]: #error this is wrong, isn't it
        test.idl:1:1: warning[W0012]: #warning careful
        test.idl:1:1: warning[W0209]: the file defines nothing
            hint: is it the file that you meant, and are the macros of its `#if`s
                  defined?
        test.idl:1:1: warning[W0209]: the file defines nothing
            hint: is it the file that you meant, and are the macros of its `#if`s
                  defined?
        test.idl:2:9: warning[W0013]: macro `A` is defined again, differently
            hint: `#undef` it first
        test.idl:2:1: error[E0014]: macro `F` has 1 parameters, not 2
            hint: arguments are separated by commas
        test.idl:2:1: error[E0014]: the call of macro `F` has no `)`
            hint: close the list of arguments
        test.idl:2:1: error[E0201]: expected a definition, found `F`
            hint: definitions begin with module, interface, struct, union, enum, typedef,
                  const, exception, valuetype or native
        test.idl:2:9: error[E0015]: macros expand to more than 10000 tokens
            hint: macros are no longer expanded from here on
        test.idl:1:1: error[E0016]: this `#pragma prefix` is not complete
            hint: the forms are `prefix "text"`, `ID name "IDL:…:1.0"` and `version
                  name 1.0`
        test.idl:2:1: error[E0016]: this `#pragma version` is not complete
            hint: the forms are `prefix "text"`, `ID name "IDL:…:1.0"` and `version
                  name 1.0`
        test.idl:2:1: error[E0016]: this `#pragma ID` is not complete
            hint: the forms are `prefix "text"`, `ID name "IDL:…:1.0"` and `version
                  name 1.0`
        test.idl:1:1: error[E0101]: this comment is never closed
            hint: add `*/`
        test.idl:1:18: error[E0102]: this string does not end on its line
            hint: add the closing quote; strings side by side are joined
        test.idl:1:16: error[E0102]: this character literal does not end on its line
            hint: add the closing quote; strings side by side are joined
        test.idl:1:18: error[E0103]: `$` has no meaning in IDL
            hint: remove it
        test.idl:1:11: error[E0103]: `Käse` has letters that IDL names cannot have
            hint: names are made of a–z, A–Z, 0–9 and `_`
        test.idl:1:18: error[E0104]: there is no escape `\q`
            hint: escapes are \n \t \v \b \r \f \a \\ \? \' \" \123 \xFF, and \u1234 in
                  wide literals
        test.idl:1:18: error[E0104]: `\x` needs hexadecimal digits
            hint: escapes are \n \t \v \b \r \f \a \\ \? \' \" \123 \xFF, and \u1234 in
                  wide literals
        test.idl:1:18: error[E0104]: `\u` is for wide literals only
            hint: escapes are \n \t \v \b \r \f \a \\ \? \' \" \123 \xFF, and \u1234 in
                  wide literals
        test.idl:1:17: error[E0104]: half of a surrogate pair is not a character
            hint: escapes are \n \t \v \b \r \f \a \\ \? \' \" \123 \xFF, and \u1234 in
                  wide literals
        test.idl:1:16: error[E0104]: this octal escape is above 377
            hint: escapes are \n \t \v \b \r \f \a \\ \? \' \" \123 \xFF, and \u1234 in
                  wide literals
        test.idl:1:16: error[E0105]: this character literal has 2 characters
            hint: write one character; texts stand between `"`
        test.idl:1:16: error[E0105]: this character literal is empty
            hint: write one character; texts stand between `"`
        test.idl:1:16: error[E0106]: a number that starts with 0 is octal: 8 and 9 are no digits
            hint: remove the 0
        test.idl:1:16: error[E0106]: this is not a hexadecimal number
            hint: write 0x and digits 0–9, a–f
        test.idl:1:16: error[E0106]: `12ul` is not a number
            hint: numbers are like 12, 017, 0x1F, 1.5, 1.5e3 and 1.50d, without suffixes
        test.idl:1:18: error[E0106]: `1e` is not a number
            hint: numbers are like 12, 017, 0x1F, 1.5, 1.5e3 and 1.50d, without suffixes
        test.idl:1:30: error[E0107]: this number is above 2^64-1
            hint: the largest type is unsigned long long, up to 18446744073709551615
        test.idl:1:18: error[E0108]: this string contains U+0000
            hint: IDL strings end at the first U+0000, so they cannot hold one
        test.idl:1:16: error[E0109]: U+20AC does not fit this character type
            hint: a char is one ISO 8859-1 character; write L'…' for a wchar
        test.idl:1:17: error[E0109]: U+1F600 does not fit this character type
            hint: a wchar constant is one UTF-16 unit, up to U+FFFF
        test.idl:1:22: error[E0201]: expected `in`, `out` or `inout`, found `long`
            hint: each parameter begins with its direction, e.g. `in long count`
        test.idl:1:17: error[E0201]: expected `;` after this, found `}`
            hint: add `;`
        test.idl:1:19: error[E0201]: expected `;` after this, found the end of the file
            hint: add `;`
        test.idl:1:1: error[E0201]: expected a definition, found `strcut`
            hint: did you mean `struct`?
        test.idl:2:1: error[E0201]: this `}` closes nothing
            hint: remove it, or add the `{` that it was meant for
        test.idl:1:15: error[E0201]: expected an operation, attribute or type, found `interface`
            hint: this cannot stand inside an interface or valuetype: is a `}` missing?
        test.idl:1:14: error[E0201]: expected a name after this `,`
            hint: remove the `,`
        test.idl:1:32: error[E0201]: expected `;`, found `raises`
            hint: an attribute that can be set has `getraises (…)` and `setraises
                  (…)`
        test.idl:2:1: error[E0201]: expected `}`, found the end of the file
        test.idl:1:45: error[E0202]: this nests deeper than 4 levels
            hint: name inner types with typedef
        test.idl:1:20: error[E0203]: `any` is a keyword, but a name must stand here
            hint: choose another name, or escape it: `_any`
        test.idl:1:20: error[E0204]: `Any` differs from the keyword `any` only in case
            hint: choose another name, or escape it: `_Any`
        test.idl:1:1: error[E0205]: `bitset` is not part of the CORBA profile of IDL
            hint: it belongs to building blocks that CORBA has no encoding for
        test.idl:1:1: error[E0205]: `bitmask` is not part of the CORBA profile of IDL
            hint: it belongs to building blocks that CORBA has no encoding for
        test.idl:1:12: error[E0205]: `map` is not part of the CORBA profile of IDL
            hint: it belongs to building blocks that CORBA has no encoding for
        test.idl:1:9: error[E0205]: a template module is not part of the CORBA profile of IDL
            hint: it belongs to building blocks that CORBA has no encoding for
        test.idl:1:6: error[E0206]: enum `E` has no enumerator
            hint: add at least one enumerator
        test.idl:1:7: error[E0206]: union `U` has no case
            hint: add at least one case
        test.idl:1:27: warning[W0207]: `port` is a keyword in newer versions of IDL
            hint: write `_port` to be understood everywhere
        test.idl:1:16: warning[W0207]: `Factory` differs from the keyword `factory` only in case
            hint: other compilers refuse it: write `_Factory`
        test.idl:1:12: error[E0208]: annotation `@key` applies to nothing
            hint: put it before a definition, member or parameter
        test.idl:1:1: warning[W0209]: the file defines nothing
            hint: is it the file that you meant, and are the macros of its `#if`s
                  defined?
        test.idl:1:1: warning[W0209]: the file defines nothing
            hint: is it the file that you meant, and are the macros of its `#if`s
                  defined?
        test.idl:1:12: error[E0301]: `Strin` is not defined
            hint: did you mean `string`?
        test.idl:1:25: error[E0301]: `X` is not defined in `M`
            hint: define it before its first use, or #include the file that does
        test.idl:1:39: error[E0301]: `Deep` is not defined
            hint: there is `M::Deep`
        test.idl:1:24: error[E0302]: `S` is already defined in this scope
            hint: rename one of them
        test.idl:1:26: error[E0303]: `ABC` differs from `Abc` only in case
            hint: IDL names of one scope must differ in more than case: rename one of
                  them, or allow it (`--allow-case-clash`, `Builder::allow_case_clash`)
        test.idl:1:24: error[E0304]: `abc` is defined as `Abc`
            hint: names must always be written alike: `Abc`
        test.idl:1:54: error[E0305]: `T` already stands for something else here
            hint: rename it, or write the outer one with its scope (`::…::T`)
        test.idl:1:20: error[E0306]: `I` is the name of the scope that it is in
            hint: choose another name
        test.idl:2:32: error[E0307]: `S` is inherited with several meanings
            hint: write it with its interface: `Base::S`
        test.idl:1:51: error[E0308]: `F` is already inherited
            hint: operations and attributes cannot be redefined
        test.idl:2:11: error[E0308]: `C` inherits `f` from two bases
            hint: operations and attributes cannot be overloaded
        test.idl:1:27: error[E0309]: `L` is not a type, but a constant
            hint: name a type
        test.idl:1:45: error[E0309]: `S` is not an exception, but a struct
            hint: name an exception
        test.idl:1:23: error[E0309]: enum `E` contains no names
            hint: names before `::` are modules, interfaces, valuetypes, structs, unions
                  or exceptions
        test.idl:1:29: error[E0309]: `S` is not a constant, but a struct
            hint: name a constant
        test.idl:1:11: warning[W0310]: interface `I` is declared but never defined
            hint: only references to it can be passed; include the file that defines it
        test.idl:1:8: error[E0311]: struct `S` is declared but never defined
            hint: define it, or include its file
        test.idl:1:12: error[E0312]: struct `S` would contain itself
            hint: use a sequence of it, or put its definition first
        test.idl:1:21: error[E0312]: union `U` is used before it is defined
            hint: use a sequence of it, or put its definition first
        test.idl:1:25: error[E0312]: struct `S` is used before it is defined
            hint: put its definition first
        test.idl:1:60: error[E0312]: struct `S` is used before it is defined
            hint: put its definition first
        test.idl:1:28: error[E0312]: interface `I` cannot be inherited from before it is defined
            hint: put its definition before this one
        test.idl:1:30: error[E0313]: `I` is local interface here, but was declared as interface
            hint: use the same words in both declarations
        test.idl:1:33: error[E0313]: `V` is not abstract here, but was declared as abstract
            hint: use the same words in both declarations
        test.idl:1:23: warning[W0314]: `right` differs from `Right`, its scope, only in case
            hint: choose another name
        test.idl:1:34: error[E0401]: `A` is listed twice
            hint: list it once
        test.idl:1:37: error[E0402]: an interface cannot inherit from local interface `A`
            hint: abstract interfaces inherit from abstract ones only; only local
                  interfaces inherit from local ones
        test.idl:1:50: error[E0402]: `B` is not abstract, so it must be the first base
            hint: a valuetype has at most one base with state, and that comes first
        test.idl:1:40: error[E0402]: an abstract valuetype cannot inherit from `A`
            hint: abstract valuetypes inherit from abstract ones only
        test.idl:1:38: error[E0403]: a oneway operation cannot have a result
            hint: nothing comes back: remove it, or `oneway`
        test.idl:1:45: error[E0403]: a oneway operation has only `in` parameters
            hint: nothing comes back: remove it, or `oneway`
        test.idl:1:65: error[E0403]: a oneway operation cannot raise exceptions
            hint: nothing comes back: remove it, or `oneway`
        test.idl:1:47: error[E0404]: a local type cannot be used by interface `I`
            hint: make the interface local, or pass something that can be sent
        test.idl:1:49: error[E0305]: `l` already stands for something else here: it is `L`, as IDL ignores case
            hint: rename it, or write the outer one with its scope (`::…::L`)
        test.idl:1:12: error[E0405]: `void` is only the result of an operation
            hint: choose a type that has values
        test.idl:1:17: error[E0406]: this type cannot be the discriminator of a union
            hint: discriminators are integers, octet, char, wchar, boolean or an enum
        test.idl:1:46: error[E0407]: this label is already in use in this union
            hint: remove one of them
        test.idl:1:42: error[E0407]: this default is already in use in this union
            hint: remove one of them
        test.idl:1:67: error[E0408]: `default` can never apply: all labels are in use
            hint: remove it, or one of the other labels
        test.idl:1:16: error[E0409]: 0 is not a bound
            hint: bounds and dimensions are 1 to 4294967295
        test.idl:1:16: error[E0409]: -1 is not a bound
            hint: bounds and dimensions are 1 to 4294967295
        test.idl:1:24: error[E0409]: 4294967296 is not a bound
            hint: bounds and dimensions are 1 to 4294967295
        test.idl:1:9: error[E0410]: there is no fixed<32, 2>
            hint: fixed has 1 to 31 digits, of which 0 to all are behind the point
        test.idl:1:9: error[E0410]: there is no fixed<3, 4>
            hint: fixed has 1 to 31 digits, of which 0 to all are behind the point
        test.idl:1:31: error[E0411]: abstract valuetype `V` cannot have state
            hint: make it an attribute, or remove `abstract`
        test.idl:1:38: error[E0411]: a custom valuetype cannot be truncatable
            hint: remove `truncatable`
        test.idl:1:29: error[E0411]: a valuetype cannot be boxed
            hint: boxes are for types that are not values already
        test.idl:1:43: error[E0411]: `V` supports several interfaces
            hint: a valuetype supports at most one interface that is not abstract
        test.idl:1:32: error[E0411]: an abstract valuetype has no factories
            hint: remove it, or `abstract`
        test.idl:1:25: error[E0412]: factories and finders have only `in` parameters
            hint: write `in`
        test.idl:3:1: error[E0413]: the repository id is already `IDL:a:1.0`
            hint: set it once only
        test.idl:3:1: error[E0413]: the version is already 1.1
            hint: set it once only
        test.idl:3:11: error[E0413]: the prefix is "x" here, but "" at the forward declaration
            hint: put both under the same `#pragma prefix`
        test.idl:2:1: error[E0414]: `none` is not a repository id
            hint: repository ids are like "IDL:omg.org/CosNaming/NamingContext:1.0"
        test.idl:1:1: warning[W0209]: the file defines nothing
            hint: is it the file that you meant, and are the macros of its `#if`s
                  defined?
        test.idl:1:1: error[E0414]: `a b` is not a repository id prefix
            hint: a prefix is like "omg.org", without spaces, colons or outer slashes
        test.idl:1:7: error[E0415]: this type cannot be that of a constant
            hint: constants are integers, octet, boolean, characters, strings,
                  enumerators, or floating or fixed point numbers
        test.idl:1:33: error[E0416]: `*` is not the name of a context
            hint: context names are letters, digits, `.` and `_`, perhaps with `*` at the
                  end
        test.idl:1:27: warning[W0417]: `IDL:I:1.0` is already in use
            hint: peers tell types apart by their repository ids
        test.idl:1:37: error[E0418]: the type of this port is not an interface
            hint: name an interface
        test.idl:1:39: error[E0305]: `s` already stands for something else here: it is `S`, as IDL ignores case
            hint: rename it, or write the outer one with its scope (`::…::S`)
        test.idl:1:15: error[E0421]: an operation cannot take or return a sequence without a name
            hint: give it a name: `typedef … Name;`, and use that
        test.idl:1:1: error[E0422]: `@bit_bound` needs a number of bits from 1 to 64
            hint: write `@bit_bound(32)`
        test.idl:1:16: error[E0501]: expected an integer, found a string
            hint: change the value, or the type
        test.idl:1:17: error[E0501]: expected a wide character, found a character
            hint: write an `L` before the quote
        test.idl:1:16: error[E0501]: expected an integer, found a floating point number
            hint: integers have no point and no exponent
        test.idl:1:43: error[E0501]: expected an enumerator of `A`, found an enumerator
            hint: change the value, or the type
        test.idl:1:17: error[E0502]: 256 is out of range
            hint: values of this type are 0 to 255
        test.idl:1:25: error[E0502]: -1 is out of range
            hint: values of this type are 0 to 4294967295
        test.idl:1:17: error[E0502]: this value is out of range
            hint: it is too large for the type
        test.idl:1:17: error[E0502]: this value needs more than 31 digits
            hint: fixed has at most 31 digits
        test.idl:1:35: error[E0502]: this value is out of range
            hint: fixed<3, 1> has 2 digits before the point
        test.idl:1:18: error[E0503]: division by zero
        test.idl:1:22: error[E0503]: division by zero
        test.idl:1:22: error[E0504]: `%` does not apply to floating point numbers
            hint: both sides must be numbers of the same sort
        test.idl:1:22: error[E0504]: `+` does not apply to a string and a string
            hint: both sides must be numbers of the same sort
        test.idl:1:18: error[E0505]: cannot shift by 64
            hint: shifts are by 0 to 63
        test.idl:1:21: error[E0506]: this string has 3 characters; its type allows 2
            hint: shorten it, or raise the bound
        test.idl:1:43: error[E0507]: evaluating this takes more digits than the limit
            hint: simplify the expression, or raise `Limits::constant_bits`
        test.idl:1:1: error[E0103]: `$` has no meaning in IDL
            hint: remove it
        test.idl:1:2: error[E0103]: `$` has no meaning in IDL
            hint: remove it
        test.idl:1:3: error[E0103]: `$` has no meaning in IDL
            hint: remove it
        test.idl:1:185: error[E0201]: expected `;` after this, found the end of the file
            hint: add `;`
        test.idl:1:186: error[E0902]: more than 100 tokens
            hint: split the input into several files
        test.idl:1:186: error[E0201]: expected `}`, found the end of the file
        test.idl:2:30: error[E0419]: `Messaging::ReplyHandler` is not what CORBA means by that name
            hint: asynchronous calls need the Messaging module of CORBA: rename yours
        test.idl:1:1: error[E0420]: there is no interface `Quoter` that is not local
            hint: the options name it as one to be answered asynchronously (AMH)
        test.idl:2:11: error[E0420]: `Quoter` itself declares no operation `quote`
            hint: the options name it as one to be answered asynchronously (AMH)
    "#]]
    .assert_eq(&out);
}

#[test]
fn rendering_shows_line_caret_notes_and_hint() {
    check(
        "module Stock {\n  exception Invalid { string symbol; };\n\tinterface Quoter {\n\t  long \
         get_quote(in strng name) raises (Invalid);\n    void Get_Quote();\n  };\n};\n",
        &expect![[r#"
            module Stock [IDL:Stock:1.0]
              exception Invalid [IDL:Stock/Invalid:1.0]
                symbol: string
              interface Quoter [IDL:Stock/Quoter:1.0]
                operation Get_Quote() -> Void [IDL:Stock/Quoter/Get_Quote:1.0]
            ----
            error[E0301]: `strng` is not defined
              --> test.idl:4:22
               |
             4 |    long get_quote(in strng name) raises (Invalid);
               |                      ^^^^^
               = hint: did you mean `string`?
        "#]],
    );
}

#[test]
fn many_errors_in_one_run() {
    check(
        r#"struct A { long x; Missing y; };
interface I {
  void f(in long);
  void g(in A x);
  attribute Missing m;
  void h(in I x) raises (Nope);
};
const octet O = 300;
const octet P = O + 1;
typedef sequence<A, O> S;
union U switch (double) { case 1: S s; };
struct B { U x; S y };
interface J : I { void g(); };
"#,
        &expect![[r#"
            struct A [IDL:A:1.0]
              x: Long
            interface I [IDL:I:1.0]
              operation g(in x: A) -> Void [IDL:I/g:1.0]
              operation h(in x: I) -> Void [IDL:I/h:1.0]
            union U switch Long [IDL:U:1.0]
            struct B [IDL:B:1.0]
              x: U
            interface J : I [IDL:J:1.0]
              operation g() -> Void [IDL:J/g:1.0]
            ----
            error[E0301]: `Missing` is not defined
              --> test.idl:1:20
               |
             1 | struct A { long x; Missing y; };
               |                    ^^^^^^^
            note: also used here
              --> test.idl:5:13
               |
             5 |   attribute Missing m;
               |             ^^^^^^^
               = hint: define it before its first use, or #include the file that does

            error[E0201]: expected a name, found `)`
              --> test.idl:3:17
               |
             3 |   void f(in long);
               |                 ^

            error[E0301]: `Nope` is not defined
              --> test.idl:6:26
               |
             6 |   void h(in I x) raises (Nope);
               |                          ^^^^
               = hint: define it before its first use, or #include the file that does

            error[E0502]: 300 is out of range
              --> test.idl:8:17
               |
             8 | const octet O = 300;
               |                 ^^^
               = hint: values of this type are 0 to 255

            error[E0406]: this type cannot be the discriminator of a union
              --> test.idl:11:17
                |
             11 | union U switch (double) { case 1: S s; };
                |                 ^^^^^^
               = hint: discriminators are integers, octet, char, wchar, boolean or an enum

            error[E0201]: expected `;` after this, found `}`
              --> test.idl:12:19
                |
             12 | struct B { U x; S y };
                |                   ^
               = hint: add `;`

            error[E0308]: `g` is already inherited
              --> test.idl:13:24
                |
             13 | interface J : I { void g(); };
                |                        ^
            note: from here
              --> test.idl:4:8
               |
             4 |   void g(in A x);
               |        ^
               = hint: operations and attributes cannot be redefined
        "#]],
    );
}

#[test]
fn recovery_keeps_what_is_sound() {
    check(
        r#"interface A { void ok(); void bad(in long; void fine(); };
struct B { long a; 12; string c; };
union C switch (long) { case 1: long a; case: long x; case 3: string b; };
module { struct Lost {}; };
struct D { B x; };
"#,
        &expect![[r#"
            interface A [IDL:A:1.0]
              operation ok() -> Void [IDL:A/ok:1.0]
              operation fine() -> Void [IDL:A/fine:1.0]
            struct B [IDL:B:1.0]
              a: Long
              c: string
            union C switch Long unused 0 [IDL:C:1.0]
              1 => a: Long
              3 => b: string
            struct D [IDL:D:1.0]
              x: B
            ----
            error[E0201]: expected a name, found `;`
              --> test.idl:1:42
               |
             1 | interface A { void ok(); void bad(in long; void fine(); };
               |                                          ^

            error[E0201]: expected a type, found number 12
              --> test.idl:2:20
               |
             2 | struct B { long a; 12; string c; };
               |                    ^^

            error[E0201]: expected a value, found `:`
              --> test.idl:3:45
               |
             3 | union C switch (long) { case 1: long a; case: long x; case 3: string b; };
               |                                             ^
               = hint: values are literals and names of constants

            error[E0201]: expected a name, found `{`
              --> test.idl:4:8
               |
             4 | module { struct Lost {}; };
               |        ^
        "#]],
    );
}
