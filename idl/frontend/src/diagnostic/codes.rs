//! The table of diagnostic codes: number, severity, and what each is about.
//!
//! One row makes the variant of [`Code`], its name in messages and its line in the book. A test
//! asserts that every row has an input that produces it.

use super::Severity;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $number:literal $severity:ident;)*) => {
        /// A rule of the language (or a limit) that a diagnostic is about.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code { $($(#[$doc])* $name,)* }

        impl Code {
            /// Every code, in order of number.
            pub const ALL: &'static [Code] = &[$(Code::$name,)*];

            /// The number shown after `E` or `W`.
            #[must_use]
            pub fn number(self) -> u16 {
                match self { $(Code::$name => $number,)* }
            }

            /// Error or warning.
            #[must_use]
            pub fn severity(self) -> Severity {
                match self { $(Code::$name => Severity::$severity,)* }
            }
        }
    };
}

codes! {
    /// The file compiled, or an included file, is not there.
    FileNotFound = 1 Error;
    /// A file is there but cannot be read.
    FileUnreadable = 2 Error;
    /// A file, or all files together, are larger than the limit.
    FileTooLarge = 3 Error;
    /// Included files nest deeper than the limit.
    IncludeTooDeep = 4 Error;
    /// `#include` without `"file"` or `<file>`.
    IncludeSyntax = 5 Error;
    /// A `#` word that is not a directive.
    UnknownDirective = 6 Error;
    /// A directive that is not written as it must be.
    DirectiveSyntax = 7 Error;
    /// `#else`, `#elif` or `#endif` without a matching `#if`.
    UnbalancedConditional = 8 Error;
    /// `#if` without `#endif`.
    UnterminatedConditional = 9 Error;
    /// The expression of `#if` or `#elif` is not one.
    ConditionSyntax = 10 Error;
    /// `#error`
    UserError = 11 Error;
    /// `#warning`
    UserWarning = 12 Warning;
    /// A macro was defined again, differently.
    MacroRedefined = 13 Warning;
    /// A macro was called with the wrong number of arguments, or without `)`.
    MacroArguments = 14 Error;
    /// A macro expands to more than the limit.
    MacroTooLarge = 15 Error;
    /// A `#pragma` of CORBA is not written as it must be.
    PragmaSyntax = 16 Error;

    /// `/*` without `*/`.
    UnterminatedComment = 101 Error;
    /// A string or character literal does not end on its line.
    UnterminatedLiteral = 102 Error;
    /// A character that IDL does not use.
    UnexpectedCharacter = 103 Error;
    /// An escape sequence that IDL does not have.
    BadEscape = 104 Error;
    /// A character literal with no or several characters.
    BadCharacterLiteral = 105 Error;
    /// A number that is not written as it must be.
    BadNumber = 106 Error;
    /// An integer literal above 2^64-1, or a number with too many digits.
    NumberTooLarge = 107 Error;
    /// U+0000 in a string.
    NulInString = 108 Error;
    /// A character that its type cannot hold.
    CharacterRange = 109 Error;

    /// Something else was expected here.
    Expected = 201 Error;
    /// Types, expressions or scopes nest deeper than the limit.
    NestingTooDeep = 202 Error;
    /// A keyword stands where a name must be.
    ReservedWord = 203 Error;
    /// A name differs from a keyword only in case.
    KeywordCase = 204 Error;
    /// A construct of IDL outside the CORBA profile.
    NotSupported = 205 Error;
    /// A definition that must have contents has none.
    EmptyDefinition = 206 Error;
    /// A name that newer versions of IDL reserve, or that is like such a keyword.
    NewKeyword = 207 Warning;
    /// An annotation where none can be.
    AnnotationMisplaced = 208 Error;
    /// A file that is compiled defines nothing.
    EmptyFile = 209 Warning;

    /// A name is not defined.
    NotFound = 301 Error;
    /// A name is defined a second time in its scope.
    Redefinition = 302 Error;
    /// Two names of one scope differ only in case.
    CaseClash = 303 Error;
    /// A name is used with another case than it was defined with.
    CaseMismatch = 304 Error;
    /// A name is defined in a scope that used it before with another meaning.
    RedefinitionAfterUse = 305 Error;
    /// A name inside a scope is the name of that scope.
    NameOfScope = 306 Error;
    /// A name is inherited from several bases with different meanings.
    AmbiguousName = 307 Error;
    /// An operation or attribute has the name of an inherited one.
    InheritedClash = 308 Error;
    /// A name denotes another kind of thing than needed here.
    WrongKind = 309 Error;
    /// An interface or valuetype was declared but never defined.
    ForwardOnly = 310 Warning;
    /// A struct or union was declared but never defined.
    NeverDefined = 311 Error;
    /// A type is used before it is complete.
    IncompleteType = 312 Error;
    /// A forward declaration and the definition are of different kinds.
    ForwardMismatch = 313 Error;
    /// A name inside a scope differs from the name of that scope only in case.
    ScopeCase = 314 Warning;

    /// The same base, or supported interface, is listed twice.
    DuplicateBase = 401 Error;
    /// A base of a kind that this definition cannot inherit from.
    BadBase = 402 Error;
    /// A oneway operation with a result, an out parameter or an exception.
    OnewayRules = 403 Error;
    /// A local type in an interface that is not local.
    LocalType = 404 Error;
    /// `void` where a value is needed.
    VoidType = 405 Error;
    /// A union discriminator of a type that cannot be one.
    BadDiscriminator = 406 Error;
    /// Two cases of a union have the same label.
    DuplicateLabel = 407 Error;
    /// `default:` although all labels are used.
    NeedlessDefault = 408 Error;
    /// A bound or dimension outside 1..=2^32-1.
    BadBound = 409 Error;
    /// `fixed` with impossible digits or scale.
    BadFixed = 410 Error;
    /// A rule of valuetypes is broken.
    ValueRules = 411 Error;
    /// A factory or finder parameter that is not `in`.
    FactoryParameter = 412 Error;
    /// A repository id is set twice, differently.
    RepositoryIdConflict = 413 Error;
    /// A repository id, prefix or version is malformed.
    BadRepositoryId = 414 Error;
    /// A constant of a type that constants cannot have.
    BadConstantType = 415 Error;
    /// A name in a `context` clause is malformed.
    BadContext = 416 Error;
    /// Two definitions have the same repository id.
    SameRepositoryId = 417 Warning;
    /// A rule of component declarations is broken.
    ComponentRules = 418 Error;
    /// Implied IDL needs a name that stands for something else.
    ImpliedClash = 419 Error;
    /// The options name an interface or operation that is not there.
    UnknownOperation = 420 Error;
    /// A type without a name where operations need one that has.
    AnonymousType = 421 Error;
    /// An annotation of the language has a value outside its range.
    AnnotationRange = 422 Error;

    /// A value of the wrong type.
    ConstantType = 501 Error;
    /// A value outside the range of its type.
    ConstantRange = 502 Error;
    /// Division by zero.
    DivisionByZero = 503 Error;
    /// An operator that these operands do not have.
    BadOperand = 504 Error;
    /// A shift by less than 0 or more than 63.
    ShiftRange = 505 Error;
    /// A string longer than the bound of its type.
    StringTooLong = 506 Error;
    /// A constant needs more digits than the limit.
    ConstantTooComplex = 507 Error;

    /// Two IDL names become the same Rust name, and one gives way. Raised by the generator.
    RustNameClash = 601 Warning;
    /// A construct is understood, but no code is made for it. Raised by the generator.
    NotGenerated = 602 Warning;
    /// The options say where the code of a file is that no file includes. Raised by the generator.
    UnknownExtern = 603 Error;

    /// More diagnostics than the limit; the rest were counted only.
    TooManyDiagnostics = 901 Error;
    /// More definitions or tokens than the limit.
    TooMuchInput = 902 Error;
}

impl std::fmt::Display for Code {
    /// `E0301` or `W0310`
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let letter = match self.severity() {
            Severity::Error => 'E',
            Severity::Warning => 'W',
        };
        write!(f, "{letter}{:04}", self.number())
    }
}
