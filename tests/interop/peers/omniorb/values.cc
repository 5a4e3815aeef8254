#include "values.h"

#include <cstdio>
#include <omniORB4/codeSets.h>

bool native_latin1 = false;

// ------------------------------------------------------------------ texts

std::wstring wide(const char* utf8) {
  std::wstring out;
  for (const unsigned char* p = reinterpret_cast<const unsigned char*>(utf8); *p;) {
    unsigned c = *p++;
    int more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0 ? 1 : 0;
    if (more) c &= 0x3f >> more;
    while (more--) c = c << 6 | (*p++ & 0x3f);
    if (c >= 0x10000) {
      // CORBA::WChar holds one UTF-16 unit in omniORB, whatever the size of wchar_t
      c -= 0x10000;
      out += static_cast<wchar_t>(0xd800 | c >> 10);
      out += static_cast<wchar_t>(0xdc00 | (c & 0x3ff));
    } else {
      out += static_cast<wchar_t>(c);
    }
  }
  return out;
}

std::string native(const char* utf8) {
  if (!native_latin1) return utf8;
  std::string out;
  // What ISO 8859-1 has not becomes '?': those features are not run with this code set.
  for (wchar_t c : wide(utf8)) out += c < 256 ? static_cast<char>(c) : '?';
  return out;
}

// ------------------------------------------------------------------ constructed types

Mixed v_mixed(long n) {
  Mixed m;
  m.o = v_octet(n);
  m.d = v_double(n);
  m.b = v_boolean(n);
  m.ll = v_longlong(n);
  m.c = v_char(n);
  m.s = v_short(n);
  m.f = v_float(n);
  m.us = v_ushort(n);
  m.ul = v_ulong(n);
  m.last = v_octet(n + 1);
  return m;
}

NumberSeq6 v_number_seq6(long n) {
  NumberSeq6 s;
  s.length(static_cast<CORBA::ULong>(n % 5 + 2));
  for (CORBA::ULong i = 0; i < s.length(); i++) s[i] = v_long(n + i);
  return s;
}
ShortTextSeq7 v_short_text_seq7(long n) {
  ShortTextSeq7 s;
  s.length(static_cast<CORBA::ULong>(n % 5 + 3));
  for (CORBA::ULong i = 0; i < s.length(); i++) s[i] = v_short_text(n + i).c_str();
  return s;
}

void v_row(long n, Row out) {
  for (int i = 0; i < 5; i++) out[i] = v_long(n + i);
}
void v_matrix(long n, Matrix out) {
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 3; j++) out[i][j] = v_short(n + 3 * i + j);
}
void v_digest(long n, Digest out) {
  for (int i = 0; i < 16; i++) out[i] = v_octet(n + i);
}
void v_text_array(long n, TextArray out) {
  for (int i = 0; i < 3; i++) out[i] = v_string(n + i).c_str();
}
void v_point_array(long n, PointArray out) {
  for (int i = 0; i < 2; i++) out[i] = v_point(n + i);
}
void v_cube(long n, Cube out) {
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++)
      for (int k = 0; k < 2; k++) out[i][j][k] = v_double(n + 4 * i + 2 * j + k);
}
void v_long_seq_array(long n, LongSeqArray out) {
  for (int i = 0; i < 3; i++) out[i] = v_long_seq(n + i);
}
MatrixSeq v_matrix_seq(long n) {
  MatrixSeq s;
  s.length(static_cast<CORBA::ULong>(n % 5));
  for (CORBA::ULong i = 0; i < s.length(); i++) v_matrix(n + i, s[i]);
  return s;
}

Person v_person(long n) {
  Person p;
  p.name = v_string(n).c_str();
  p.favourite = v_colour(n);
  p.place = v_point(n);
  p.aliases = v_text_seq(n);
  p.code = v_short_text(n).c_str();
  p.member = v_boolean(n);
  return p;
}

Company v_company(long n) {
  Company c;
  c.head = v_person(n);
  c.numbers = v_mixed(n);
  c.staff = v_person_seq(n);
  v_matrix(n, c.chart);
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 3; j++) c.grid[i][j] = v_long(n + 3 * i + j);
  c.capital = v_amount(n);
  return c;
}

Tree v_tree(long n, int depth) {
  Tree t;
  t.label = v_string(n).c_str();
  t.children.length(depth == 0 ? 0 : static_cast<CORBA::ULong>(n % 3));
  for (CORBA::ULong i = 0; i < t.children.length(); i++) t.children[i] = v_tree(n + i + 1, depth - 1);
  return t;
}

Link v_link(long n) {
  Link l;
  l.value = v_long(n);
  if (n % 5 != 0) {
    l.next.length(1);
    l.next[0] = v_link(n - 1);
  }
  return l;
}

// ------------------------------------------------------------------ unions

BooleanUnion v_boolean_union(long n) {
  BooleanUnion u;
  if (n % 2 == 1)
    u.number(v_long(n));
  else
    u.text(v_string(n).c_str());
  return u;
}
CharUnion v_char_union(long n) {
  CharUnion u;
  switch (n % 4) {
    case 0: u.number(v_long(n)); u._d('a'); break;
    case 1: u.number(v_long(n)); u._d('b'); break;
    case 2: u.text(v_string(n).c_str()); break;
    default: u.place(v_point(n)); u._d('\0');
  }
  return u;
}
ShortUnion v_short_union(long n) {
  ShortUnion u;
  switch (n % 3) {
    case 0: u.small(v_octet(n)); break;
    case 1: u.large(v_double(n)); break;
    default: u.text(v_string(n).c_str());
  }
  return u;
}
UshortUnion v_ushort_union(long n) {
  UshortUnion u;
  switch (n % 3) {
    case 0: u.tint(v_colour(n)); break;
    case 1: u.flag(v_boolean(n)); break;
    default: u.text(v_string(n).c_str()); u._d(0);
  }
  return u;
}
LongUnion v_long_union(long n) {
  LongUnion u;
  switch (n % 3) {
    case 0: u.number(v_longlong(n)); break;
    case 1: u.numbers(v_long_seq(n)); break;
    default: u.letter(v_char(n)); u._d(0);
  }
  return u;
}
UlongUnion v_ulong_union(long n) {
  UlongUnion u;
  Matrix m;
  switch (n % 3) {
    case 0: v_matrix(n, m); u.chart(m); break;
    case 1: u.someone(v_person(n)); break;
    default: u.small(v_octet(n)); u._d(1);
  }
  return u;
}
LonglongUnion v_longlong_union(long n) {
  LonglongUnion u;
  switch (n % 3) {
    case 0: u.number(v_short(n)); break;
    case 1: u.text(v_string(n).c_str()); break;
    default: u.large(v_double(n)); u._d(0);
  }
  return u;
}
UlonglongUnion v_ulonglong_union(long n) {
  UlonglongUnion u;
  switch (n % 3) {
    case 0: u.number(v_short(n)); break;
    case 1: u.text(v_string(n).c_str()); break;
    default: u.large(v_double(n)); u._d(0);
  }
  return u;
}
ColourUnion v_colour_union(long n) {
  ColourUnion u;
  CORBA::Any a;
  switch (n % 4) {
    case 0: u.inner(v_short_union(n)); break;
    case 1: u.people(v_person_seq(n)); u._d(green); break;
    case 2: u.people(v_person_seq(n)); u._d(blue); break;
    default: a <<= v_string(n).c_str(); u.whatever(a); u._d(infra_red);
  }
  return u;
}
SparseUnion v_sparse_union(long n) {
  SparseUnion u;
  switch (n % 3) {
    case 0: u._default(); u._d(0); break;
    case 1: u.number(v_long(n)); break;
    default: u.text(v_string(n).c_str());
  }
  return u;
}
Precise v_precise(long n) {
  Precise p;
  p.pad = v_octet(n);
  p.value = v_longdouble(n);
  return p;
}
WideUlongUnion v_wide_ulong_union(long n) {
  WideUlongUnion u;
  if (n % 2 == 0) {
    u.number(v_short(n));
  } else {
    u.text(v_string(n).c_str());
    u._d(static_cast<CORBA::ULong>(17 + n));
  }
  return u;
}
WideLonglongUnion v_wide_longlong_union(long n) {
  WideLonglongUnion u;
  switch (n % 3) {
    case 0: u.number(v_short(n)); break;
    case 1: u.large(v_double(n)); break;
    default: u.text(v_string(n).c_str()); u._d(4000000000LL + n);
  }
  return u;
}
WideUlonglongUnion v_wide_ulonglong_union(long n) {
  WideUlonglongUnion u;
  if (n % 2 == 0) {
    u.number(v_short(n));
  } else {
    u.text(v_string(n).c_str());
    u._d(0x8000000000000000ULL + static_cast<CORBA::ULongLong>(n));
  }
  return u;
}

// ------------------------------------------------------------------ exceptions and constants

Details v_details(long n) {
  Details d;
  d.reason = v_string(n).c_str();
  d.code = v_long(n);
  d.place = v_point(n);
  return d;
}
Lists v_lists(long n) {
  Lists l;
  l.names = v_text_seq(n);
  l.numbers = v_long_seq(n);
  l.people = v_person_seq(n);
  return l;
}
Constants v_constants() {
  Constants c;
  c.short_constant = SHORT_CONSTANT;
  c.large_constant = LARGE_CONSTANT;
  c.pi = PI;
  c.letter = LETTER;
  c.yes = YES;
  c.greeting = GREETING;
  c.preferred = PREFERRED;
  c.shifted = SHIFTED;
  c.octet_constant = OCTET_CONSTANT;
  return c;
}

// ------------------------------------------------------------------ any and TypeCode

static CORBA::Any with_type(CORBA::Any a, CORBA::TypeCode_ptr tc) {
  a.type(tc);
  return a;
}

template <class T>
static CORBA::Any holding(const T& value) {
  CORBA::Any a;
  a <<= value;
  return a;
}

CORBA::Any v_any(long kind, long n, const char* who, MakeNamed make) {
  CORBA::Any a;
  switch (kind) {
    case 0: return a;
    case 1: a <<= CORBA::Any::from_boolean(v_boolean(n)); return a;
    case 2: a <<= CORBA::Any::from_char(v_char(n)); return a;
    case 3: a <<= CORBA::Any::from_wchar(v_wchar(n)); return a;
    case 4: a <<= CORBA::Any::from_octet(v_octet(n)); return a;
    case 5: return holding(v_short(n));
    case 6: return holding(v_ushort(n));
    case 7: return holding(v_long(n));
    case 8: return holding(v_ulong(n));
    case 9: return holding(v_longlong(n));
    case 10: return holding(v_ulonglong(n));
    case 11: return holding(v_float(n));
    case 12: return holding(v_double(n));
    case 13: a <<= v_string(n).c_str(); return a;
    case 14:
      a <<= CORBA::Any::from_string(v_short_text(n).c_str(), 8);
      return with_type(a, _tc_ShortText);
    case 15: a <<= CORBA::Any::from_wstring(v_wstring(n).c_str(), 0); return a;
    case 16: {
      Price p = v_price(n);
      a <<= CORBA::Any::from_fixed(p, 5, 2);
      return with_type(a, _tc_Price);
    }
    case 17: return holding(v_colour(n));
    case 18: return holding(v_point(n));
    case 19: return holding(v_mixed(n));
    case 20: return holding(v_person(n));
    case 21: return holding(v_tree(n));
    case 22: return holding(v_link(n));
    case 23: return holding(v_char_union(n));
    case 24: return holding(v_sparse_union(n));
    case 25: return holding(v_long_seq(n));
    case 26: return holding(v_text_seq(n));
    case 27: return holding(v_person_seq(n));
    case 28: {
      Matrix m;
      v_matrix(n, m);
      a <<= Matrix_forany(m, 0);
      return a;
    }
    case 29: {
      TextArray t;
      v_text_array(n, t);
      a <<= TextArray_forany(t, 0);
      return a;
    }
    case 30: return with_type(holding(v_number(n)), _tc_Number);
    case 31: return with_type(holding(v_amount(n)), _tc_Amount);
    case 32: return holding(v_details(n));
    case 33: {
      CORBA::Any inner, middle;
      inner <<= v_string(n).c_str();
      middle <<= inner;
      a <<= middle;
      return a;
    }
    case 34: {
      CORBA::TypeCode_var tc = v_typecode(n);
      a <<= tc.in();
      return a;
    }
    case 35: {
      Named_var r = make(std::string(who) + "-" + std::to_string(n));
      a <<= r.in();
      return a;
    }
    case 36: return holding(v_octet_seq(n));
    case 37: return holding(v_company(n));
    case 38: return holding(v_number_seq6(n));
    case 39: return holding(v_colour_union(n));
    case 40: {
      LongSeqArray s;
      v_long_seq_array(n, s);
      a <<= LongSeqArray_forany(s, 0);
      return a;
    }
    default: throw Different("no any of kind " + std::to_string(kind));
  }
}

CORBA::TypeCode_ptr v_typecode(long kind) {
  static const CORBA::TypeCode_ptr t[ANY_KINDS] = {
      CORBA::_tc_null,      CORBA::_tc_boolean,  CORBA::_tc_char,     CORBA::_tc_wchar,
      CORBA::_tc_octet,     CORBA::_tc_short,    CORBA::_tc_ushort,   CORBA::_tc_long,
      CORBA::_tc_ulong,     CORBA::_tc_longlong, CORBA::_tc_ulonglong, CORBA::_tc_float,
      CORBA::_tc_double,    CORBA::_tc_string,   _tc_ShortText,       CORBA::_tc_wstring,
      _tc_Price,            _tc_Colour,          _tc_Point,           _tc_Mixed,
      _tc_Person,           _tc_Tree,            _tc_Link,            _tc_CharUnion,
      _tc_SparseUnion,      _tc_LongSeq,         _tc_TextSeq,         _tc_PersonSeq,
      _tc_Matrix,           _tc_TextArray,       _tc_Number,          _tc_Amount,
      _tc_Details,          CORBA::_tc_any,      CORBA::_tc_TypeCode, _tc_Named,
      _tc_OctetSeq,         _tc_Company,         _tc_NumberSeq6,      _tc_ColourUnion,
      _tc_LongSeqArray};
  return CORBA::TypeCode::_duplicate(t[kind % ANY_KINDS]);
}

void check_any_seq(const char* what, const AnySeq& got, long n) {
  if (got.length() != static_cast<CORBA::ULong>(n % 5)) throw Different(std::string(what) + ": length differs");
  for (CORBA::ULong i = 0; i < got.length(); i++) check_any(what, got[i], 13 + 2 * ((n + i) % 5), n + i, "");
}

static void check_type(const char* what, CORBA::TypeCode_ptr got, CORBA::TypeCode_ptr wanted) {
  if (got->kind() != wanted->kind())
    throw Different(std::string(what) + ": got TypeCode kind " + std::to_string(got->kind()) +
                    ", expected " + std::to_string(wanted->kind()));
  if (!got->equivalent(wanted)) throw Different(std::string(what) + ": TypeCode not equivalent");
}

void check_typecode(const char* what, CORBA::TypeCode_ptr got, long kind) {
  CORBA::TypeCode_var wanted = v_typecode(kind);
  check_type(what, got, wanted);
}

AnySeq v_any_seq(long n) {
  AnySeq s;
  s.length(static_cast<CORBA::ULong>(n % 5));
  for (CORBA::ULong i = 0; i < s.length(); i++) s[i] = v_any(13 + 2 * ((n + i) % 5), n + i, "", 0);
  return s;
}

void check_any(const char* what, const CORBA::Any& got, long kind, long n, const char* who) {
  CORBA::TypeCode_var type = got.type();
  CORBA::TypeCode_var wanted_type = v_typecode(kind);
  check_type(what, type, wanted_type);
  if (kind == 35) {
    Named_ptr r;
    if (!(got >>= r)) throw Different(std::string(what) + ": not a Named");
    CORBA::String_var name = r->name();
    check_text(what, name, std::string(who) + "-" + std::to_string(n));
    return;
  }
  if (kind == 33) {
    const CORBA::Any* middle;
    const CORBA::Any* inner;
    const char* text;
    if (!(got >>= middle)) throw Different(std::string(what) + ": no any inside");
    if (!(*middle >>= inner)) throw Different(std::string(what) + ": no any inside the any");
    if (!(*inner >>= text)) throw Different(std::string(what) + ": no string in the innermost any");
    check_text(what, text, v_string(n));
    return;
  }
  if (kind == 34) {
    CORBA::TypeCode_ptr tc;
    if (!(got >>= tc)) throw Different(std::string(what) + ": no TypeCode inside");
    CORBA::TypeCode_var wanted = v_typecode(n);
    check_type(what, tc, wanted);
    return;
  }
  // The value is taken out by its type, so that it is really decoded, and put into an any that this
  // side made: then both have the same TypeCode and compare octet by octet.
  CORBA::Any again;
#define TAKE(T)                                                                       \
  {                                                                                   \
    const T* p;                                                                       \
    if (!(got >>= p)) throw Different(std::string(what) + ": any does not hold " #T); \
    again <<= *p;                                                                     \
    break;                                                                            \
  }
#define TAKE_VALUE(T)                                                                 \
  {                                                                                   \
    T v;                                                                              \
    if (!(got >>= v)) throw Different(std::string(what) + ": any does not hold " #T); \
    again <<= v;                                                                      \
    break;                                                                            \
  }
#define TAKE_AS(T, AS)                                                                       \
  {                                                                                          \
    CORBA::T v;                                                                              \
    if (!(got >>= CORBA::Any::to_##AS(v))) throw Different(std::string(what) + ": no " #AS); \
    again <<= CORBA::Any::from_##AS(v);                                                      \
    break;                                                                                   \
  }
#define TAKE_ARRAY(T)                                                                 \
  {                                                                                   \
    T##_forany p;                                                                     \
    if (!(got >>= p)) throw Different(std::string(what) + ": any does not hold " #T); \
    again <<= T##_forany((T##_slice*)p.in(), 0);                                      \
    break;                                                                            \
  }
  switch (kind) {
    case 0: break;
    case 1: TAKE_AS(Boolean, boolean)
    case 2: TAKE_AS(Char, char)
    case 3: TAKE_AS(WChar, wchar)
    case 4: TAKE_AS(Octet, octet)
    case 5: TAKE_VALUE(CORBA::Short)
    case 6: TAKE_VALUE(CORBA::UShort)
    case 7: case 30: case 31: TAKE_VALUE(CORBA::Long)
    case 8: TAKE_VALUE(CORBA::ULong)
    case 9: TAKE_VALUE(CORBA::LongLong)
    case 10: TAKE_VALUE(CORBA::ULongLong)
    case 11: TAKE_VALUE(CORBA::Float)
    case 12: TAKE_VALUE(CORBA::Double)
    case 13: TAKE_VALUE(const char*)
    case 14: {
      const char* p;
      if (!(got >>= CORBA::Any::to_string(p, 8))) throw Different(std::string(what) + ": no string<8>");
      again <<= CORBA::Any::from_string(p, 8);
      break;
    }
    case 15: {
      const CORBA::WChar* p;
      if (!(got >>= CORBA::Any::to_wstring(p, 0))) throw Different(std::string(what) + ": no wstring");
      again <<= CORBA::Any::from_wstring(p, 0);
      break;
    }
    case 16: {
      Price p;
      if (!(got >>= CORBA::Any::to_fixed(p, 5, 2))) throw Different(std::string(what) + ": no fixed");
      again <<= CORBA::Any::from_fixed(p, 5, 2);
      break;
    }
    case 17: TAKE_VALUE(Colour)
    case 18: TAKE(Point)
    case 19: TAKE(Mixed)
    case 20: TAKE(Person)
    case 21: TAKE(Tree)
    case 22: TAKE(Link)
    case 23: TAKE(CharUnion)
    case 24: TAKE(SparseUnion)
    case 25: TAKE(LongSeq)
    case 26: TAKE(TextSeq)
    case 27: TAKE(PersonSeq)
    case 28: TAKE_ARRAY(Matrix)
    case 29: TAKE_ARRAY(TextArray)
    case 32: TAKE(Details)
    case 36: TAKE(OctetSeq)
    case 37: TAKE(Company)
    case 38: TAKE(NumberSeq6)
    case 39: TAKE(ColourUnion)
    case 40: TAKE_ARRAY(LongSeqArray)
    default: throw Different(std::string(what) + ": no any of this kind");
  }
  check(what, AnyValue{again}, AnyValue{v_any(kind, n, who, 0)});
}

// ------------------------------------------------------------------ comparison

std::string octets_in_words(const cdrMemoryStream& s) {
  std::string out = std::to_string(s.bufSize()) + " octets";
  const unsigned char* p = static_cast<const unsigned char*>(s.bufPtr());
  for (CORBA::ULong i = 0; i < s.bufSize() && i < 64; i++) {
    char hex[4];
    std::snprintf(hex, sizeof hex, i % 4 ? "%02x" : " %02x", p[i]);
    out += hex;
  }
  return out;
}

void prepare(cdrMemoryStream& s) {
  const GIOP::Version version = {1, 2};
  s.TCS_C(omni::omniCodeSet::getTCS_C("UTF-8", version));
  s.TCS_W(omni::omniCodeSet::getTCS_W("UTF-16", version));
}

void check_text(const char* what, const char* got, const std::string& wanted) {
  if (wanted != got) throw Different(std::string(what) + ": got \"" + got + "\", expected \"" + wanted + "\"");
}

void check_wide(const char* what, const CORBA::WChar* got, const std::wstring& wanted) {
  if (wanted == got) return;
  std::string g, w;
  for (const CORBA::WChar* p = got; *p; p++) g += " " + std::to_string(static_cast<long>(*p));
  for (wchar_t c : wanted) w += " " + std::to_string(static_cast<long>(c));
  throw Different(std::string(what) + ": got" + g + ", expected" + w);
}
