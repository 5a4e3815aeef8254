//! The IDL front end: preprocessor, lexer, parser and checker over any text.
//! Includes are served from memory: the text may include itself and one well-formed file.

use corbie_frontend::{MemoryLoader, Options, compile};

/// IDL text in UTF-8 or ISO 8859-1. Diagnostics are made into text as well: carets and hints must
/// not fail either.
pub fn idl(data: &[u8]) {
    let loader = MemoryLoader::new()
        .include_path("include")
        .file("main.idl", data)
        .file("include/other.idl", "#pragma once\nmodule Other { struct S { long l; }; };\n");
    let mut options = Options::new();
    // What a fuzzer makes large shall not take seconds.
    options.limits.macro_tokens = 20_000;
    options.limits.total_octets = 1 << 20;
    options.implied.ami_callback = true;
    options.implied.ami_poller = true;
    options.implied.amh = true;
    let compilation = compile("main.idl", &loader, &options);
    let _ = compilation.render_diagnostics();
    let _ = compilation.model.implied_idl();
}
