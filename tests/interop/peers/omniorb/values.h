// The values of the catalogue: what each type's n-th value is. Every peer has the same functions
// (`src/values.rs`, `Values.java`); change them together.
#pragma once

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "interop.hh"

// true: strings in this process are ISO 8859-1, else UTF-8.
extern bool native_latin1;

// ------------------------------------------------------------------ primitives

template <class T, size_t N>
inline T pick(const T (&table)[N], long n) {
  return table[n % static_cast<long>(N)];
}

inline CORBA::Boolean v_boolean(long n) { return n % 2 == 1; }
inline CORBA::Char v_char(long n) {
  static const CORBA::Char t[] = {'A', '~', ' ', '0', 'z'};
  return pick(t, n);
}
inline CORBA::WChar v_wchar(long n) {
  static const CORBA::WChar t[] = {0x41, 0xe9, 0x20ac, 0x4e2d, 0xfffd};
  return pick(t, n);
}
inline CORBA::Octet v_octet(long n) {
  static const CORBA::Octet t[] = {0, 255, 128, 127, 1};
  return pick(t, n);
}
inline CORBA::Short v_short(long n) {
  static const CORBA::Short t[] = {0, -32768, 32767, -1, 0x1234};
  return pick(t, n);
}
inline CORBA::UShort v_ushort(long n) {
  static const CORBA::UShort t[] = {0, 65535, 32768, 32767, 0x1234};
  return pick(t, n);
}
inline CORBA::Long v_long(long n) {
  static const CORBA::Long t[] = {0, -2147483647 - 1, 2147483647, -1, 0x12345678};
  return pick(t, n);
}
inline CORBA::ULong v_ulong(long n) {
  static const CORBA::ULong t[] = {0, 4294967295u, 2147483648u, 2147483647u, 0x12345678u};
  return pick(t, n);
}
inline CORBA::LongLong v_longlong(long n) {
  static const CORBA::LongLong t[] = {0, -9223372036854775807LL - 1, 9223372036854775807LL, -1,
                                      0x123456789abcdef0LL};
  return pick(t, n);
}
inline CORBA::ULongLong v_ulonglong(long n) {
  static const CORBA::ULongLong t[] = {0, 0xffffffffffffffffULL, 0x8000000000000000ULL,
                                       0x7fffffffffffffffULL, 0x123456789abcdef0ULL};
  return pick(t, n);
}
template <class F, class B>
inline F from_bits(B bits) {
  F f;
  static_assert(sizeof f == sizeof bits, "same size");
  std::memcpy(&f, &bits, sizeof f);
  return f;
}
inline CORBA::Float v_float(long n) {
  static const CORBA::ULong t[] = {0u,          0x80000000u, 0x7f7fffffu, 1u,
                                   0xff800000u, 0x40490fdbu, 0x7fc00000u, 0x00800000u};
  return from_bits<CORBA::Float>(pick(t, n));
}
inline CORBA::Double v_double(long n) {
  static const CORBA::ULongLong t[] = {0ULL,
                                       0x8000000000000000ULL,
                                       0x7fefffffffffffffULL,
                                       1ULL,
                                       0xfff0000000000000ULL,
                                       0x400921fb54442d18ULL,
                                       0x7ff8000000000000ULL,
                                       0x0010000000000000ULL};
  return from_bits<CORBA::Double>(pick(t, n));
}
inline CORBA::Float v_float_nan(long n) {
  static const CORBA::ULong t[] = {0x7fc00001u, 0xffc00000u, 0x7fffffffu, 0x7fc12345u, 0xffedcba9u};
  return from_bits<CORBA::Float>(pick(t, n));
}
inline CORBA::Double v_double_nan(long n) {
  static const CORBA::ULongLong t[] = {0x7ff8000000000001ULL, 0xfff8000000000000ULL,
                                       0x7fffffffffffffffULL, 0x7ff8123456789abcULL,
                                       0xfffedcba98765432ULL};
  return from_bits<CORBA::Double>(pick(t, n));
}
inline CORBA::LongDouble v_longdouble(long n) {
  // pi, the largest and the smallest normal number of the 80-bit format: exact in binary128 too
  static const CORBA::LongDouble t[] = {0.0L, -1.5L, 3.14159265358979323846264338327950288L,
                                        __LDBL_MAX__, __LDBL_MIN__};
  return pick(t, n);
}

// ------------------------------------------------------------------ texts

// UTF-8 text in the native code set of this process.
std::string native(const char* utf8);
std::wstring wide(const char* utf8);

inline std::string v_string(long n) {
  static const char* const t[] = {"", "a", "Hello, world", "0123456789abcdefghijklmnopqrstuvwxyz",
                                  "line\nbreak\ttab \"quoted\" \\ ~"};
  return pick(t, n);
}
inline std::string v_short_text(long n) {
  static const char* const t[] = {"", "a", "12345678", "abc", "x y"};
  return pick(t, n);
}
inline std::string v_latin1(long n) {
  static const char* const t[] = {"é", "Zürich", "¡ÿ¢£", "\u00a0", "Ærøskøbing"};
  return native(pick(t, n));
}
inline std::string v_unicode(long n) {
  static const char* const t[] = {"€", "日本語", "Ελλάδα", "Привет, мир", "naïve – “quoted”"};
  return native(pick(t, n));
}
inline CORBA::Char v_latin1_char(long n) {
  static const unsigned char t[] = {0xe9, 0xff, 0xa1, 0xc6, 0xdf};
  return static_cast<CORBA::Char>(pick(t, n));
}
inline std::wstring v_wstring(long n) {
  static const char* const t[] = {"", "A", "äöü€", "日本語", "Привет"};
  return wide(pick(t, n));
}
inline std::wstring v_short_wide_text(long n) {
  static const char* const t[] = {"", "A", "äöü€", "日本語", "12345678"};
  return wide(pick(t, n));
}
inline std::wstring v_surrogates(long n) {
  static const char* const t[] = {"😀", "a𝄞b", "𐍈", "😀😀", "\U0010FFFF"};
  return wide(pick(t, n));
}
inline std::string v_text(long n) { return v_string(n); }
inline std::wstring v_wide_text(long n) { return v_wstring(n); }

// ------------------------------------------------------------------ constructed types

using namespace Interop;

inline Number v_number(long n) { return v_long(n); }
inline Amount v_amount(long n) { return v_long(n + 1); }
inline Colour v_colour(long n) {
  static const Colour t[] = {red, green, blue, infra_red};
  return pick(t, n);
}
inline Point v_point(long n) {
  Point p;
  p.x = v_long(n);
  p.y = v_long(n + 1);
  return p;
}
Mixed v_mixed(long n);

#define SEQUENCE(T, NAME, ELEMENT)                                    \
  inline T v_##NAME(long n) {                                         \
    T s;                                                              \
    s.length(static_cast<CORBA::ULong>(n % 5));                       \
    for (CORBA::ULong i = 0; i < s.length(); i++) s[i] = ELEMENT(n + i); \
    return s;                                                         \
  }
#define TEXT_SEQUENCE(T, NAME, ELEMENT)                                       \
  inline T v_##NAME(long n) {                                                 \
    T s;                                                                      \
    s.length(static_cast<CORBA::ULong>(n % 5));                               \
    for (CORBA::ULong i = 0; i < s.length(); i++) s[i] = ELEMENT(n + i).c_str(); \
    return s;                                                                 \
  }

SEQUENCE(BooleanSeq, boolean_seq, v_boolean)
SEQUENCE(CharSeq, char_seq, v_char)
SEQUENCE(WcharSeq, wchar_seq, v_wchar)
SEQUENCE(OctetSeq, octet_seq, v_octet)
SEQUENCE(ShortSeq, short_seq, v_short)
SEQUENCE(UshortSeq, ushort_seq, v_ushort)
SEQUENCE(LongSeq, long_seq, v_long)
SEQUENCE(UlongSeq, ulong_seq, v_ulong)
SEQUENCE(LonglongSeq, longlong_seq, v_longlong)
SEQUENCE(UlonglongSeq, ulonglong_seq, v_ulonglong)
SEQUENCE(FloatSeq, float_seq, v_float)
SEQUENCE(DoubleSeq, double_seq, v_double)
TEXT_SEQUENCE(TextSeq, text_seq, v_string)
TEXT_SEQUENCE(WideTextSeq, wide_text_seq, v_wstring)
SEQUENCE(ColourSeq, colour_seq, v_colour)
SEQUENCE(PointSeq, point_seq, v_point)
SEQUENCE(MixedSeq, mixed_seq, v_mixed)
SEQUENCE(OctetSeqSeq, octet_seq_seq, v_octet_seq)
SEQUENCE(LongSeqSeq, long_seq_seq, v_long_seq)
SEQUENCE(LongDoubleSeq, longdouble_seq, v_longdouble)

NumberSeq6 v_number_seq6(long n);
ShortTextSeq7 v_short_text_seq7(long n);
MatrixSeq v_matrix_seq(long n);

// Arrays are filled in place.
void v_row(long n, Row out);
void v_matrix(long n, Matrix out);
void v_digest(long n, Digest out);
void v_text_array(long n, TextArray out);
void v_point_array(long n, PointArray out);
void v_cube(long n, Cube out);
void v_long_seq_array(long n, LongSeqArray out);

Person v_person(long n);
SEQUENCE(PersonSeq, person_seq, v_person)
Company v_company(long n);
Tree v_tree(long n, int depth = 2);
Link v_link(long n);

BooleanUnion v_boolean_union(long n);
CharUnion v_char_union(long n);
ShortUnion v_short_union(long n);
UshortUnion v_ushort_union(long n);
LongUnion v_long_union(long n);
UlongUnion v_ulong_union(long n);
LonglongUnion v_longlong_union(long n);
UlonglongUnion v_ulonglong_union(long n);
ColourUnion v_colour_union(long n);
SparseUnion v_sparse_union(long n);
SEQUENCE(SparseUnionSeq, sparse_union_seq, v_sparse_union)
Precise v_precise(long n);
WideUlongUnion v_wide_ulong_union(long n);
WideLonglongUnion v_wide_longlong_union(long n);
WideUlonglongUnion v_wide_ulonglong_union(long n);

inline Price v_price(long n) {
  static const char* const t[] = {"567.80", "-999.99", "999.99", "123.45", "-100.01"};
  return Price(pick(t, n));
}
inline Huge v_huge(long n) {
  static const char* const t[] = {"1000000000000000000000000000000",
                                  "9999999999999999999999999999999",
                                  "-1234567890123456789012345678901",
                                  "5555555555555555555555555555555",
                                  "-9999999999999999999999999999999"};
  return Huge(pick(t, n));
}
inline Fraction v_fraction(long n) {
  static const char* const t[] = {"0.1000000000", "0.9999999999", "-0.1234567890",
                                  "0.5000000000", "-0.9000000001"};
  return Fraction(pick(t, n));
}
inline Tenth v_tenth(long n) {
  static const char* const t[] = {"100.0", "-999.9", "999.9", "123.4", "-512.3"};
  return Tenth(pick(t, n));
}
inline Price v_sparse_price(long n) {
  static const char* const t[] = {"0.00", "0.01", "-0.01", "-1.20", "10.00"};
  return Price(pick(t, n));
}
SEQUENCE(PriceSeq, price_seq, v_price)

Details v_details(long n);
Lists v_lists(long n);
Constants v_constants();

// ------------------------------------------------------------------ any and TypeCode

const long ANY_KINDS = 41;
// `who` names the side that the reference of kind 35 points to.
typedef Named_ptr (*MakeNamed)(const std::string& name);
CORBA::Any v_any(long kind, long n, const char* who, MakeNamed make);
// Throws Different when `got` is not what v_any(kind, n, who, ..) makes.
void check_any(const char* what, const CORBA::Any& got, long kind, long n, const char* who);
CORBA::TypeCode_ptr v_typecode(long kind);
void check_typecode(const char* what, CORBA::TypeCode_ptr got, long kind);
AnySeq v_any_seq(long n);
void check_any_seq(const char* what, const AnySeq& got, long n);

// ------------------------------------------------------------------ comparison

struct Different : std::runtime_error {
  explicit Different(const std::string& what) : std::runtime_error(what) {}
};

std::string octets_in_words(const cdrMemoryStream& s);

// The octets that a value marshals to: equal values have equal octets, whatever their C++ type.
void prepare(cdrMemoryStream& s);

template <class T>
inline void put(cdrMemoryStream& s, const T& value) {
  value >>= s;
}
inline void put(cdrMemoryStream& s, const CORBA::Boolean& v) { s.marshalBoolean(v); }
// A copied _omni_Fixed has lost its digits and scale: they come back with the conversion.
template <CORBA::UShort D, CORBA::UShort S>
inline void put(cdrMemoryStream& s, const _omni_Fixed<D, S>& v) {
  _omni_Fixed<D, S> limited(static_cast<const CORBA::Fixed&>(v));
  limited >>= s;
}
// CORBA::Char is the same C++ type in omniORB
inline void put(cdrMemoryStream& s, const CORBA::Octet& v) { s.marshalOctet(v); }
inline void put(cdrMemoryStream& s, const CORBA::WChar& v) { s.marshalULong(v); }

// The six octets after the 80-bit number are whatever the stack had.
inline void put(cdrMemoryStream& s, const CORBA::LongDouble& v) {
  s.put_octet_array(reinterpret_cast<const CORBA::Octet*>(&v), 10);
}
inline void put(cdrMemoryStream& s, const Precise& v) {
  put(s, v.pad);
  put(s, v.value);
}
inline void put(cdrMemoryStream& s, const LongDoubleSeq& v) {
  s.marshalULong(v.length());
  for (CORBA::ULong i = 0; i < v.length(); i++) put(s, v[i]);
}
// An any without its TypeCode, which omniORB marshals with arbitrary padding.
struct AnyValue {
  CORBA::Any any;
};
inline void put(cdrMemoryStream& s, const AnyValue& v) { v.any.NP_marshalDataOnly(s); }

template <class T>
void check(const char* what, const T& got, const T& wanted) {
  cdrMemoryStream g(CORBA::ULong(0), true), w(CORBA::ULong(0), true);
  prepare(g);
  prepare(w);
  put(g, got);
  put(w, wanted);
  if (g.bufSize() != w.bufSize() || std::memcmp(g.bufPtr(), w.bufPtr(), g.bufSize()) != 0)
    throw Different(std::string(what) + ": got " + octets_in_words(g) + ", expected " +
                    octets_in_words(w));
}
void check_text(const char* what, const char* got, const std::string& wanted);
void check_wide(const char* what, const CORBA::WChar* got, const std::wstring& wanted);

template <class E>
void check_elements(const char* what, const E* got, const E* wanted, size_t n) {
  for (size_t i = 0; i < n; i++)
    check((std::string(what) + "[" + std::to_string(i) + "]").c_str(), got[i], wanted[i]);
}
inline void check_elements(const char* what, const CORBA::String_member* got,
                           const CORBA::String_member* wanted, size_t n) {
  for (size_t i = 0; i < n; i++)
    check_text((std::string(what) + "[" + std::to_string(i) + "]").c_str(), got[i].in(),
               std::string(wanted[i].in()));
}
