//! `corbie call`: calls any operation of any object, with JSON in and JSON out.
//!
//! Reads the IDL, finds the operation, converts each argument by the type of its parameter, calls
//! through the dynamic invocation interface (CORBA 3.3 P1 §11) and converts the results back.

use std::io::Write;
use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, value_parser};

use crate::call::{Outcome, Target};
use crate::failure::{Failure, Report, USER_EXCEPTION};
use crate::json::{Place, text};
use crate::{idl_files, session};

pub(super) fn table() -> Command {
    Command::new("call")
        .about("Calls an operation or attribute of an object, with JSON in and JSON out")
        .arg(session::reference())
        .arg(
            Arg::new("operation")
                .value_name("INTERFACE.OPERATION")
                .required(true)
                .help("The operation or attribute: Module::Interface.name"),
        )
        .arg(
            Arg::new("args")
                .value_name("ARG")
                .num_args(0..)
                .allow_negative_numbers(true)
                .help("One JSON value for each in and inout parameter; @FILE reads it from a file"),
        )
        .arg(
            Arg::new("idl")
                .long("idl")
                .value_name("FILE")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("The IDL file that has the interface"),
        )
        .args(idl_files::arguments())
        .args(session::arguments())
        .after_help(EXAMPLES)
        .after_long_help(LONG_HELP)
}

const EXAMPLES: &str = "\
Example: corbie call corbaloc::localhost:2809/Quoter --idl stock.idl \\
             Stock::Quoter.get_quote '\"IBM\"'

Attributes: Interface.name reads, and with one argument sets.
How types are written in JSON: corbie call --help";

const LONG_HELP: &str = r#"Examples:
  corbie call IOR:0100… --idl stock.idl Stock::Quoter.get_quote '"IBM"'
  corbie call corbaloc::host:2809/Q --idl stock.idl Stock::Quoter.quotes_served
  corbie call file:///tmp/q.ior --idl stock.idl Stock::Quoter.load @quotes.json

Results: the return value, if there is nothing else; with out or inout parameters an object with
`return` (unless it is void) and each of them by name; `null` when there is nothing. A user
exception is written to standard error as {"exception": NAME, "members": {…}}, exit status 2. A
system exception is a sentence on standard error, exit status 1.

IDL type               JSON
  boolean                true, false
  octet, integers        a number, exact in 64 bits; "7" is read too
  float, double          a number, "NaN", "Infinity", "-Infinity"
  long double            as double if that is exact,
                         else {"long_double": "0x" and 32 digits}
  fixed                  a string, "12.50"; a number is read too
  char, string, wstring  a string
  wchar                  a string of one UTF-16 unit, or its number
  enum                   the name of the enumerator
  struct, exception      an object with all members
  union                  {"_d": discriminator, MEMBER: value};
                         without a member {"_d": discriminator};
                         an argument needs no `_d` if MEMBER says it
  sequence, array        an array
  ... of octet           {"base64": TEXT}; {"hex": TEXT},
                         {"text": TEXT} and an array are read too
  any                    {"type": TYPE, "value": value}
  valuetype              an object with all members; null;
                         {"_ref": N}: the same value as the one
                         that has "_id": N; "_type": TYPE when it
                         is of a derived type
  value box              {"_value": content}; null
  TypeCode, TYPE         "long", "string<8>", "fixed<5,2>",
                         "sequence<octet>", "Stock::Quote" (a name of
                         the IDL file), or an object with `kind`, as
                         printed for types that the file does not have
  object reference       "IOR:…" or another URL; nil is null"#;

pub(super) fn run(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    let compilation = compile(matches)?;
    let wanted = matches.get_one::<String>("operation").map_or("", String::as_str);
    let texts: Vec<String> = matches.get_many("args").into_iter().flatten().cloned().collect();
    let target = Target::find(&compilation.model, wanted, texts.len())?;
    let mut values = Vec::with_capacity(texts.len());
    for (index, given) in texts.iter().enumerate() {
        let name = format!("args[{index}]");
        values.push(text::parse(&text::load(given, &name)?, &Place::Whole(&name))?);
    }
    let session = session::Session::start(matches)?;
    let object = session.object(matches)?;
    match crate::call::call(&session, &object, &target, &values)? {
        Outcome::Results(json) => Ok(writeln!(output, "{json}")?),
        Outcome::UserException(json) => {
            Err(Failure { status: USER_EXCEPTION, report: Report::Text(json.to_string()) })
        }
    }
}

/// The model of the IDL file; warnings about it are for `idl check`, not for a call.
fn compile(matches: &ArgMatches) -> Result<corbie_frontend::Compilation, Failure> {
    let file = matches.get_one::<PathBuf>("idl").cloned().unwrap_or_default();
    let compilation = idl_files::compile(&file, matches, corbie_frontend::ImpliedIdl::default())?;
    if compilation.has_errors() {
        return Err(Failure::text(compilation.render_diagnostics()));
    }
    Ok(compilation)
}
