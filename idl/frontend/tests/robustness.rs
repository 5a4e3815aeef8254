//! Nothing panics, recurses or allocates without limit, whatever the input.
//!
//! Mutations come from a fixed seed, so a failure can be repeated.

mod support;

use std::fmt::Write;
use std::panic::catch_unwind;

use corbie_frontend::{Code, MemoryLoader, Options, compile};
use support::compile_text;

/// A small generator of numbers (xorshift64*), the same on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let value = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D);
        if n == 0 { 0 } else { (value % n as u64) as usize }
    }
}

/// The starting corpus of the fuzz target.
fn corpus() -> Vec<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fuzz/corpus/idl");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("the folder can be listed")
        .map(|entry| entry.expect("the folder can be listed").path())
        .collect();
    files.sort();
    let corpus: Vec<_> =
        files.iter().map(|file| std::fs::read(file).expect("the file can be read")).collect();
    assert!(corpus.len() >= 20, "the corpus in {folder} has only {} files", corpus.len());
    corpus
}

/// Words that mutations insert: what the grammar is made of.
const WORDS: &[&str] = &[
    "module",
    "interface",
    "abstract",
    "local",
    "struct",
    "union",
    "switch",
    "case",
    "default",
    "enum",
    "typedef",
    "const",
    "exception",
    "valuetype",
    "custom",
    "truncatable",
    "supports",
    "public",
    "factory",
    "native",
    "sequence<",
    "string<",
    "fixed<",
    "long",
    "unsigned",
    "double",
    "any",
    "Object",
    "{",
    "}",
    "(",
    ")",
    "<",
    ">",
    ";",
    ":",
    "::",
    ",",
    "=",
    "+",
    "-",
    "<<",
    ">>",
    "/",
    "%",
    "~",
    "@",
    "#",
    "\n#if ",
    "\n#endif\n",
    "\n#define X ",
    "\n#include \"a.idl\"\n",
    "\n#pragma prefix \"x\"\n",
    "\\\n",
    "\"",
    "'",
    "L'",
    "/*",
    "*/",
    "//",
    "0x",
    "08",
    "1e999999999",
    "99999999999999999999",
    "1.5d",
    "'\\x",
    "\u{e9}",
    "\0",
    "_",
    "A",
    "A::B",
    "in",
    "out",
    "raises(",
    "context(",
    "attribute",
    "readonly",
    "component",
    "home",
    "manages",
    "typeid",
    "typeprefix",
    "import",
    "eventtype",
    "void",
    "oneway",
    "int8",
    "##",
    "__VA_ARGS__",
    "defined(",
];

fn mutate(text: &[u8], random: &mut Random) -> Vec<u8> {
    let mut text = text.to_vec();
    for _ in 0..=random.below(6) {
        let at = random.below(text.len() + 1);
        let end = (at + random.below(24)).min(text.len());
        match random.below(6) {
            0 => drop(text.drain(at..end)),
            1 => {
                let piece = text[at..end].to_vec();
                let to = random.below(text.len() + 1);
                text.splice(to..to, piece);
            }
            2 if at < text.len() => text[at] = random.below(256) as u8,
            3 => text.truncate(at),
            _ => {
                let word = WORDS[random.below(WORDS.len())];
                text.splice(at..at, format!(" {word} ").into_bytes());
            }
        }
    }
    text
}

/// Everything switched on.
fn options() -> Options {
    let mut options = Options::new();
    options.implied.ami_callback = true;
    options.implied.ami_poller = true;
    options.implied.amh = true;
    options
}

#[test]
fn mutated_text_never_panics() {
    let corpus = corpus();
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let mut random = Random(number("CORBIE_SEED").unwrap_or(0x0C0B_B1E5));
    let rounds = number("CORBIE_MUTATIONS").unwrap_or(4_000);
    for round in 0..rounds {
        let text = mutate(&corpus[random.below(corpus.len())], &mut random);
        let included = corpus[random.below(corpus.len())].clone();
        let loader = MemoryLoader::new().file("main.idl", text.clone()).file("a.idl", included);
        let result = catch_unwind(|| {
            let compilation = compile("main.idl", &loader, &options());
            let _ = compilation.model.implied_idl();
            // Everything that can be asked of a faulty model must work too.
            for definition in compilation.model.iter() {
                let id = definition.id;
                let _ = compilation.model.all_operations(id);
                let _ = compilation.model.is_recursive(id);
                assert!(!definition.name.is_empty());
            }
            assert_eq!(compilation.model.dependency_order().len(), compilation.model.len());
            compilation.render_diagnostics().len()
        });
        let shown = String::from_utf8_lossy(&text);
        assert!(result.is_ok(), "round {round} panicked on:\n{shown}");
    }
}

#[test]
fn every_prefix_of_the_corpus_is_survived() {
    for text in corpus() {
        for end in 0..text.len() {
            let loader = MemoryLoader::new().file("main.idl", &text[..end]);
            let _ = compile("main.idl", &loader, &Options::new()).render_diagnostics();
        }
    }
}

#[track_caller]
fn limited(text: &str, code: Code) {
    let compilation = compile_text(text);
    assert!(
        compilation.diagnostics.iter().any(|d| d.code == code),
        "no {code} in:\n{}",
        compilation.diagnostics.iter().take(5).map(|d| format!("{d}\n")).collect::<String>()
    );
}

#[test]
fn nesting_is_limited() {
    let n = 100_000;
    limited(&"module M { ".repeat(n), Code::NestingTooDeep);
    limited(
        &format!("typedef {} long {} T;", "sequence<".repeat(n), ">".repeat(n)),
        Code::NestingTooDeep,
    );
    limited(&"struct S { ".repeat(n), Code::NestingTooDeep);
    limited(&"union U switch (long) { case 1: ".repeat(n), Code::NestingTooDeep);
    limited(&format!("#if {}1\n#endif\n", "(".repeat(n)), Code::ConditionSyntax);
    limited(&format!("#if {}1\n#endif\n", "!".repeat(n)), Code::ConditionSyntax);
}

#[test]
fn long_expressions_are_no_problem() {
    let n = 50_000;
    let text = format!(
        "const long long A = {}1{}; const long long B = {}1; const unsigned long long C = {}1;",
        "(".repeat(n),
        ")".repeat(n),
        "-".repeat(2 * n),
        "1+".repeat(n),
    );
    assert_eq!(compile_text(&text).render_diagnostics(), "");
}

#[test]
fn macros_cannot_explode() {
    let mut text = String::from("#define A0 x x x x x x x x x x\n");
    for level in 1..12 {
        let line = format!("A{} ", level - 1).repeat(10);
        let _ = writeln!(text, "#define A{level} {line}");
    }
    limited(&format!("{text}A11"), Code::MacroTooLarge);
    let mut text = String::from("#define F(x) x x\n");
    text.push_str(&format!("{}y{}", "F(".repeat(40), ")".repeat(40)));
    limited(&text, Code::MacroTooLarge);
    let nested = format!("#define G(x) x\n{}y{}", "G(".repeat(20_000), ")".repeat(20_000));
    let _ = compile_text(&nested);
    let mut chain = String::new();
    for level in 0..5_000 {
        let _ = writeln!(chain, "#define C{level} C{}", level + 1);
    }
    limited(&format!("{chain}C0"), Code::MacroTooLarge);
}

#[test]
fn files_cannot_include_themselves_for_ever() {
    limited("#include \"test.idl\"\n", Code::IncludeTooDeep);
    // Two inclusions each time: 2^64 without a bound on the total.
    let text = format!("#include \"test.idl\"\n#include \"test.idl\"\n//{}\n", " ".repeat(1 << 20));
    limited(&text, Code::FileTooLarge);
    let mut options = Options::new();
    options.limits.file_octets = 10;
    let loader = MemoryLoader::new().file("main.idl", "module M {};");
    assert_eq!(compile("main.idl", &loader, &options).diagnostics[0].code, Code::FileTooLarge);
}

#[test]
fn diagnostics_are_counted_beyond_the_limit() {
    let compilation = compile_text(&"struct {};\n".repeat(5_000));
    assert_eq!(compilation.diagnostics.len(), 201);
    let last = &compilation.diagnostics[200];
    assert_eq!(last.code, Code::TooManyDiagnostics);
    assert_eq!(last.message, "4800 more errors and warnings are not shown");
    assert!(compilation.has_errors());
}

#[test]
fn numbers_cannot_explode() {
    limited("const double A = 1e999999999999999999999;", Code::ConstantRange);
    let squared: String =
        (1..40).map(|n| format!("const long double B{n} = B{} * B{};\n", n - 1, n - 1)).collect();
    limited(&format!("const long double B0 = 1.5e4000;\n{squared}"), Code::ConstantRange);
    let product = "1.5e4000*".repeat(1_000);
    limited(&format!("const long double P = {product} 1.0;"), Code::ConstantTooComplex);
    limited(&format!("const long N = {};", "9".repeat(1_000_000)), Code::NumberTooLarge);
}

#[test]
fn deep_hierarchies_are_limited() {
    let mut text = String::from("interface I0 { void f(); };\n");
    for n in 1..2_000 {
        let _ = writeln!(text, "interface I{n} : I{} {{}};", n - 1);
    }
    limited(&text, Code::NestingTooDeep);
    // Diamonds: 2^100 paths, but only 200 bases.
    let mut text = String::from("interface A0 {}; interface B0 {};\n");
    for n in 1..100 {
        let m = n - 1;
        let _ =
            writeln!(text, "interface A{n} : A{m}, B{m} {{}}; interface B{n} : A{m}, B{m} {{}};");
    }
    assert_eq!(compile_text(&text).render_diagnostics(), "");
}

#[test]
fn any_octets_are_survived() {
    let mut random = Random(42);
    for length in 0..600 {
        let text: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
        let loader = MemoryLoader::new().file("main.idl", text);
        let _ = compile("main.idl", &loader, &Options::new()).render_diagnostics();
    }
}
