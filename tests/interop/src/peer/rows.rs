//! Operations of the shape `T pass_t(in T a, inout T b, out T c)` as a table: clients make a
//! feature of each row, servers an operation. A row is: how the argument is passed, the operation,
//! the feature (and value function), the marker of the IDL type, and the type of the argument.

macro_rules! primitives {
    ($with:ident!($($extra:tt)*)) => { $with! { $($extra)*
        value pass_boolean boolean bool, bool;
        value pass_char char char, char;
        value pass_wchar wchar WChar, WChar;
        value pass_octet octet u8, u8;
        value pass_short short i16, i16;
        value pass_ushort ushort u16, u16;
        value pass_long long i32, i32;
        value pass_ulong ulong u32, u32;
        value pass_longlong longlong i64, i64;
        value pass_ulonglong ulonglong u64, u64;
        value pass_float float f32, f32;
        value pass_double double f64, f64;
        value pass_float_nan float_nan f32, f32;
        value pass_double_nan double_nan f64, f64;
    } };
}

macro_rules! texts {
    ($with:ident!($($extra:tt)*)) => { $with! { $($extra)*
        reference pass_string string String, str;
        reference pass_text text String, str;
        reference pass_short_text short_text ShortTextIdl, str;
        reference pass_latin1 latin1 String, str;
        reference pass_unicode unicode String, str;
        value pass_latin1_char latin1_char char, char;
        reference pass_wstring wstring Wstring, str;
        reference pass_wide_text wide_text WideTextIdl, str;
        reference pass_short_wide_text short_wide_text ShortWideTextIdl, str;
        reference pass_surrogates surrogates Wstring, str;
    } };
}

macro_rules! structs {
    ($with:ident!($($extra:tt)*)) => { $with! { $($extra)*
        value pass_number number NumberIdl, i32;
        value pass_amount amount AmountIdl, i32;
        value pass_colour colour Colour, Colour;
        reference pass_point point Point, Point;
        reference pass_mixed mixed Mixed, Mixed;
        reference pass_person person Person, Person;
        reference pass_company company Company, Company;
        reference pass_tree tree Tree, Tree;
        reference pass_link link Link, Link;
    } };
}

macro_rules! unions {
    ($with:ident!($($extra:tt)*)) => { $with! { $($extra)*
        reference pass_boolean_union boolean_union BooleanUnion, BooleanUnion;
        reference pass_char_union char_union CharUnion, CharUnion;
        reference pass_short_union short_union ShortUnion, ShortUnion;
        reference pass_ushort_union ushort_union UshortUnion, UshortUnion;
        reference pass_long_union long_union LongUnion, LongUnion;
        reference pass_ulong_union ulong_union UlongUnion, UlongUnion;
        reference pass_longlong_union longlong_union LonglongUnion, LonglongUnion;
        reference pass_ulonglong_union ulonglong_union UlonglongUnion, UlonglongUnion;
        reference pass_colour_union colour_union ColourUnion, ColourUnion;
        reference pass_sparse_union sparse_union SparseUnion, SparseUnion;
        reference pass_sparse_union_seq sparse_union_seq SparseUnionSeqIdl, [SparseUnion];
    } };
}

macro_rules! sequences {
    ($with:ident!($($extra:tt)*)) => { $with! { $($extra)*
        reference pass_boolean_seq boolean_seq BooleanSeqIdl, [bool];
        reference pass_char_seq char_seq CharSeqIdl, [char];
        reference pass_wchar_seq wchar_seq WcharSeqIdl, [WChar];
        reference pass_octet_seq octet_seq OctetSeqIdl, [u8];
        reference pass_short_seq short_seq ShortSeqIdl, [i16];
        reference pass_ushort_seq ushort_seq UshortSeqIdl, [u16];
        reference pass_long_seq long_seq LongSeqIdl, [i32];
        reference pass_ulong_seq ulong_seq UlongSeqIdl, [u32];
        reference pass_longlong_seq longlong_seq LonglongSeqIdl, [i64];
        reference pass_ulonglong_seq ulonglong_seq UlonglongSeqIdl, [u64];
        reference pass_float_seq float_seq FloatSeqIdl, [f32];
        reference pass_double_seq double_seq DoubleSeqIdl, [f64];
        reference pass_text_seq text_seq TextSeqIdl, [String];
        reference pass_wide_text_seq wide_text_seq WideTextSeqIdl, [String];
        reference pass_colour_seq colour_seq ColourSeqIdl, [Colour];
        reference pass_point_seq point_seq PointSeqIdl, [Point];
        reference pass_mixed_seq mixed_seq MixedSeqIdl, [Mixed];
        reference pass_person_seq person_seq PersonSeqIdl, [Person];
        reference pass_number_seq6 number_seq6 NumberSeq6Idl, [i32];
        reference pass_short_text_seq7 short_text_seq7 ShortTextSeq7Idl, [String];
        reference pass_octet_seq_seq octet_seq_seq OctetSeqSeqIdl, [Vec<u8>];
        reference pass_long_seq_seq long_seq_seq LongSeqSeqIdl, [Vec<i32>];
        reference pass_matrix_seq matrix_seq MatrixSeqIdl, [Matrix];
    } };
}

macro_rules! arrays {
    ($with:ident!($($extra:tt)*)) => { $with! { $($extra)*
        reference pass_row row RowIdl, Row;
        reference pass_matrix matrix MatrixIdl, Matrix;
        reference pass_digest digest DigestIdl, Digest;
        reference pass_text_array text_array TextArrayIdl, TextArray;
        reference pass_point_array point_array PointArrayIdl, PointArray;
        reference pass_cube cube CubeIdl, Cube;
        reference pass_long_seq_array long_seq_array LongSeqArrayIdl, LongSeqArray;
    } };
}

macro_rules! fixeds {
    ($with:ident!($($extra:tt)*)) => { $with! { $($extra)*
        value pass_price price PriceIdl, Price;
        value pass_huge huge HugeIdl, Huge;
        value pass_fraction fraction FractionIdl, Fraction;
        value pass_tenth tenth TenthIdl, Tenth;
        reference pass_price_seq price_seq PriceSeqIdl, [Price];
    } };
}

macro_rules! extensions {
    ($with:ident!($($extra:tt)*)) => { $with! { $($extra)*
        value pass_longdouble longdouble LongDouble, LongDouble;
        reference pass_precise precise Precise, Precise;
        reference pass_longdouble_seq longdouble_seq LongDoubleSeqIdl, [LongDouble];
        value pass_sparse_price sparse_price PriceIdl, Price;
        reference pass_wide_ulong_union wide_ulong_union WideUlongUnion, WideUlongUnion;
        reference pass_wide_longlong_union wide_longlong_union WideLonglongUnion, WideLonglongUnion;
        reference pass_wide_ulonglong_union wide_ulonglong_union
            WideUlonglongUnion, WideUlonglongUnion;
    } };
}

pub(crate) use {arrays, extensions, fixeds, primitives, sequences, structs, texts, unions};
