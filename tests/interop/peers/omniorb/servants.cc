#include "servants.h"

#include <unistd.h>

#include <map>
#include <mutex>

PortableServer::POA_var root_poa;
bool dynamic_calls = false;

// ------------------------------------------------------------------ what the server found wrong

static std::mutex mismatch_lock;
static std::string mismatch;
static const CORBA::ULong MISMATCH = 0x4342ffff;

// Runs the body of an operation; a difference is kept for Root::last_mismatch.
template <class F>
static auto guarded(F body) -> decltype(body()) {
  try {
    return body();
  } catch (const Different& d) {
    {
      std::lock_guard<std::mutex> lock(mismatch_lock);
      mismatch = d.what();
    }
    throw CORBA::BAD_PARAM(MISMATCH, CORBA::COMPLETED_NO);
  }
}

// ------------------------------------------------------------------ references

Named_ptr named(const std::string& name) {
  static std::mutex lock;
  static std::map<std::string, Named_var> made;
  std::lock_guard<std::mutex> guard(lock);
  Named_var& slot = made[name];
  if (CORBA::is_nil(slot)) {
    NamedServant* servant = new NamedServant(name);
    PortableServer::ObjectId_var id = root_poa->activate_object(servant);
    CORBA::Object_var reference = root_poa->id_to_reference(id);
    slot = Named::_narrow(reference);
    servant->_remove_ref();
  }
  return Named::_duplicate(slot);
}

static std::string name_of(long n, const char* who) { return std::string(who) + "-" + std::to_string(n); }

NamedSeq v_named_seq(long n, const char* who) {
  NamedSeq s;
  s.length(3);
  s[0] = named(name_of(n, who));
  s[1] = Named::_nil();
  s[2] = named(name_of(n + 1, who));
  return s;
}

Holder v_holder(long n, const char* who) {
  Holder h;
  h.label = v_string(n).c_str();
  h.one = named(name_of(n, who));
  h.other = named(name_of(n + 1, who));
  h.more = v_named_seq(n, who);
  return h;
}

void check_named(const char* what, Named_ptr got, long n, const char* who) {
  if (CORBA::is_nil(got)) throw Different(std::string(what) + ": got nil");
  CORBA::String_var name = got->name();
  check_text(what, name, name_of(n, who));
}

void check_object(const char* what, CORBA::Object_ptr got, long n, const char* who) {
  if (CORBA::is_nil(got)) throw Different(std::string(what) + ": got nil");
  Named_var typed = Named::_narrow(got);
  if (CORBA::is_nil(typed)) throw Different(std::string(what) + ": not a Named");
  check_named(what, typed, n, who);
}

void check_named_seq(const char* what, const NamedSeq& got, long n, const char* who) {
  if (got.length() != 3) throw Different(std::string(what) + ": not three references");
  check_named(what, got[0], n, who);
  if (!CORBA::is_nil(got[1])) throw Different(std::string(what) + "[1]: not nil");
  check_named(what, got[2], n + 1, who);
}

void check_holder(const char* what, const Holder& got, long n, const char* who) {
  check_text(what, got.label, v_string(n));
  check_named(what, got.one, n, who);
  check_object(what, got.other, n + 1, who);
  check_named_seq(what, got.more, n, who);
}

CORBA::Long CallbackServant::ping(References_ptr server, CORBA::Long depth) {
  if (depth <= 0) return 1;
  Callback_var self = _this();
  return 1 + server->call_back(self, depth - 1);
}

// ------------------------------------------------------------------ bulk

OctetSeq* bulk_octets(CORBA::ULong count, unsigned seed) {
  OctetSeq* s = new OctetSeq;
  s->length(count);
  for (CORBA::ULong i = 0; i < count; i++) (*s)[i] = static_cast<CORBA::Octet>(i * 7 + (i >> 8) + seed);
  return s;
}
LongSeq* bulk_longs(CORBA::ULong count, unsigned seed) {
  LongSeq* s = new LongSeq;
  s->length(count);
  for (CORBA::ULong i = 0; i < count; i++) (*s)[i] = static_cast<CORBA::Long>(i * 2654435761u + seed);
  return s;
}
DoubleSeq* bulk_doubles(CORBA::ULong count, unsigned seed) {
  DoubleSeq* s = new DoubleSeq;
  s->length(count);
  for (CORBA::ULong i = 0; i < count; i++) (*s)[i] = i * 0.5 + seed;
  return s;
}
char* bulk_string(CORBA::ULong count, unsigned seed) {
  char* s = CORBA::string_alloc(count);
  for (CORBA::ULong i = 0; i < count; i++) s[i] = static_cast<char>('!' + (i + seed) % 90);
  s[count] = 0;
  return s;
}
TextSeq* bulk_texts(CORBA::ULong count, unsigned seed) {
  TextSeq* s = new TextSeq;
  s->length(count);
  for (CORBA::ULong i = 0; i < count; i++) (*s)[i] = bulk_string((i + seed) % 23, seed);
  return s;
}
PersonSeq* bulk_people(CORBA::ULong count, unsigned seed) {
  PersonSeq* s = new PersonSeq;
  s->length(count);
  for (CORBA::ULong i = 0; i < count; i++) (*s)[i] = v_person(static_cast<long>(i + seed));
  return s;
}
void check_bulk(const char* what, const TextSeq& got, const TextSeq& wanted) {
  if (got.length() != wanted.length()) throw Different(std::string(what) + ": length differs");
  for (CORBA::ULong i = 0; i < got.length(); i++)
    check_text((std::string(what) + "[" + std::to_string(i) + "]").c_str(), got[i], std::string(wanted[i]));
}

// ------------------------------------------------------------------ servants: pass in every direction

// Primitives, enums and what is typedef'd from them.
#define PASS(T, OUT, NAME)                                  \
  T pass_##NAME(T a, T& b, OUT c) override {                \
    return guarded([&] {                                    \
      check<T>(#NAME " in", a, v_##NAME(1));                \
      check<T>(#NAME " inout", b, v_##NAME(2));             \
      b = v_##NAME(3);                                      \
      c = v_##NAME(4);                                      \
      return static_cast<T>(v_##NAME(5));                   \
    });                                                     \
  }
// Structs and fixed of constant size.
#define PASS_FIXED(T, NAME)                       \
  T pass_##NAME(const T& a, T& b, T& c) override { \
    return guarded([&] {                          \
      check<T>(#NAME " in", a, v_##NAME(1));      \
      check<T>(#NAME " inout", b, v_##NAME(2));   \
      b = v_##NAME(3);                            \
      c = v_##NAME(4);                            \
      return T(v_##NAME(5));                      \
    });                                           \
  }
// Everything that is returned by pointer.
#define PASS_VARIABLE(T, NAME)                          \
  T* pass_##NAME(const T& a, T& b, T##_out c) override { \
    return guarded([&] {                                \
      check<T>(#NAME " in", a, v_##NAME(1));            \
      check<T>(#NAME " inout", b, v_##NAME(2));         \
      b = v_##NAME(3);                                  \
      c = new T(v_##NAME(4));                           \
      return new T(v_##NAME(5));                        \
    });                                                 \
  }
#define PASS_TEXT(OUT, NAME)                                          \
  char* pass_##NAME(const char* a, char*& b, OUT c) override {        \
    return guarded([&] {                                              \
      check_text(#NAME " in", a, v_##NAME(1));                        \
      check_text(#NAME " inout", b, v_##NAME(2));                     \
      CORBA::string_free(b);                                          \
      b = CORBA::string_dup(v_##NAME(3).c_str());                     \
      c = CORBA::string_dup(v_##NAME(4).c_str());                     \
      return CORBA::string_dup(v_##NAME(5).c_str());                  \
    });                                                               \
  }
#define PASS_WIDE(OUT, NAME)                                                            \
  CORBA::WChar* pass_##NAME(const CORBA::WChar* a, CORBA::WChar*& b, OUT c) override {  \
    return guarded([&] {                                                                \
      check_wide(#NAME " in", a, v_##NAME(1));                                          \
      check_wide(#NAME " inout", b, v_##NAME(2));                                       \
      CORBA::wstring_free(b);                                                           \
      b = CORBA::wstring_dup(v_##NAME(3).c_str());                                      \
      c = CORBA::wstring_dup(v_##NAME(4).c_str());                                      \
      return CORBA::wstring_dup(v_##NAME(5).c_str());                                   \
    });                                                                                 \
  }
#define PASS_ARRAY(T, ELEMENT, NAME)                                                            \
  T##_slice* pass_##NAME(const T a, T b, T##_out c) override {                                  \
    return guarded([&] {                                                                        \
      T wanted;                                                                                 \
      const size_t count = sizeof(T) / sizeof(ELEMENT);                                         \
      v_##NAME(1, wanted);                                                                      \
      check_elements(#NAME " in", (const ELEMENT*)a, (const ELEMENT*)wanted, count);            \
      v_##NAME(2, wanted);                                                                      \
      check_elements(#NAME " inout", (const ELEMENT*)b, (const ELEMENT*)wanted, count);         \
      v_##NAME(3, b);                                                                           \
      FILL_OUT_##T(c, NAME);                                                                    \
      T##_slice* result = T##_alloc();                                                          \
      v_##NAME(5, result);                                                                      \
      return result;                                                                            \
    });                                                                                         \
  }
#define FILL_IN_PLACE(c, NAME) v_##NAME(4, c)
#define FILL_OUT_Row(c, NAME) FILL_IN_PLACE(c, NAME)
#define FILL_OUT_Matrix(c, NAME) FILL_IN_PLACE(c, NAME)
#define FILL_OUT_Digest(c, NAME) FILL_IN_PLACE(c, NAME)
#define FILL_OUT_PointArray(c, NAME) FILL_IN_PLACE(c, NAME)
#define FILL_OUT_Cube(c, NAME) FILL_IN_PLACE(c, NAME)
#define FILL_OUT_TextArray(c, NAME) \
  TextArray_slice* made = TextArray_alloc(); \
  v_##NAME(4, made);                         \
  c = made
#define FILL_OUT_LongSeqArray(c, NAME)             \
  LongSeqArray_slice* made = LongSeqArray_alloc(); \
  v_##NAME(4, made);                               \
  c = made

class PrimitivesServant : public POA_Interop::Primitives {
 public:
  PASS(CORBA::Boolean, CORBA::Boolean_out, boolean)
  PASS(CORBA::Char, CORBA::Char_out, char)
  PASS(CORBA::WChar, CORBA::WChar_out, wchar)
  PASS(CORBA::Octet, CORBA::Octet_out, octet)
  PASS(CORBA::Short, CORBA::Short_out, short)
  PASS(CORBA::UShort, CORBA::UShort_out, ushort)
  PASS(CORBA::Long, CORBA::Long_out, long)
  PASS(CORBA::ULong, CORBA::ULong_out, ulong)
  PASS(CORBA::LongLong, CORBA::LongLong_out, longlong)
  PASS(CORBA::ULongLong, CORBA::ULongLong_out, ulonglong)
  PASS(CORBA::Float, CORBA::Float_out, float)
  PASS(CORBA::Double, CORBA::Double_out, double)
  PASS(CORBA::Float, CORBA::Float_out, float_nan)
  PASS(CORBA::Double, CORBA::Double_out, double_nan)
};

class TextsServant : public POA_Interop::Texts {
 public:
  PASS_TEXT(CORBA::String_out, string)
  PASS_TEXT(Text_out, text)
  PASS_TEXT(ShortText_out, short_text)
  PASS_TEXT(CORBA::String_out, latin1)
  PASS_TEXT(CORBA::String_out, unicode)
  PASS(CORBA::Char, CORBA::Char_out, latin1_char)
  PASS_WIDE(CORBA::WString_out, wstring)
  PASS_WIDE(WideText_out, wide_text)
  PASS_WIDE(ShortWideText_out, short_wide_text)
  PASS_WIDE(CORBA::WString_out, surrogates)
};

class StructsServant : public POA_Interop::Structs {
 public:
  PASS(Number, Number_out, number)
  PASS(Amount, Amount_out, amount)
  PASS(Colour, Colour_out, colour)
  PASS_FIXED(Point, point)
  PASS_FIXED(Mixed, mixed)
  PASS_VARIABLE(Person, person)
  PASS_VARIABLE(Company, company)
  PASS_VARIABLE(Tree, tree)
  PASS_VARIABLE(Link, link)
};

class UnionsServant : public POA_Interop::Unions {
 public:
  PASS_VARIABLE(BooleanUnion, boolean_union)
  PASS_VARIABLE(CharUnion, char_union)
  PASS_VARIABLE(ShortUnion, short_union)
  PASS_VARIABLE(UshortUnion, ushort_union)
  PASS_VARIABLE(LongUnion, long_union)
  PASS_VARIABLE(UlongUnion, ulong_union)
  PASS_VARIABLE(LonglongUnion, longlong_union)
  PASS_VARIABLE(UlonglongUnion, ulonglong_union)
  PASS_VARIABLE(ColourUnion, colour_union)
  PASS_VARIABLE(SparseUnion, sparse_union)
  PASS_VARIABLE(SparseUnionSeq, sparse_union_seq)
};

class SequencesServant : public POA_Interop::Sequences {
 public:
  PASS_VARIABLE(BooleanSeq, boolean_seq)
  PASS_VARIABLE(CharSeq, char_seq)
  PASS_VARIABLE(WcharSeq, wchar_seq)
  PASS_VARIABLE(OctetSeq, octet_seq)
  PASS_VARIABLE(ShortSeq, short_seq)
  PASS_VARIABLE(UshortSeq, ushort_seq)
  PASS_VARIABLE(LongSeq, long_seq)
  PASS_VARIABLE(UlongSeq, ulong_seq)
  PASS_VARIABLE(LonglongSeq, longlong_seq)
  PASS_VARIABLE(UlonglongSeq, ulonglong_seq)
  PASS_VARIABLE(FloatSeq, float_seq)
  PASS_VARIABLE(DoubleSeq, double_seq)
  PASS_VARIABLE(TextSeq, text_seq)
  PASS_VARIABLE(WideTextSeq, wide_text_seq)
  PASS_VARIABLE(ColourSeq, colour_seq)
  PASS_VARIABLE(PointSeq, point_seq)
  PASS_VARIABLE(MixedSeq, mixed_seq)
  PASS_VARIABLE(PersonSeq, person_seq)
  PASS_VARIABLE(NumberSeq6, number_seq6)
  PASS_VARIABLE(ShortTextSeq7, short_text_seq7)
  PASS_VARIABLE(OctetSeqSeq, octet_seq_seq)
  PASS_VARIABLE(LongSeqSeq, long_seq_seq)
  PASS_VARIABLE(MatrixSeq, matrix_seq)
};

class ArraysServant : public POA_Interop::Arrays {
 public:
  PASS_ARRAY(Row, CORBA::Long, row)
  PASS_ARRAY(Matrix, CORBA::Short, matrix)
  PASS_ARRAY(Digest, CORBA::Octet, digest)
  PASS_ARRAY(TextArray, CORBA::String_member, text_array)
  PASS_ARRAY(PointArray, Point, point_array)
  PASS_ARRAY(Cube, CORBA::Double, cube)
  PASS_ARRAY(LongSeqArray, LongSeq, long_seq_array)
};

class FixedsServant : public POA_Interop::Fixeds {
 public:
  PASS_FIXED(Price, price)
  PASS_FIXED(Huge, huge)
  PASS_FIXED(Fraction, fraction)
  PASS_FIXED(Tenth, tenth)
  PASS_VARIABLE(PriceSeq, price_seq)
};

class ExtensionsServant : public POA_Interop::Extensions {
 public:
  PASS(CORBA::LongDouble, CORBA::LongDouble_out, longdouble)
  PASS_FIXED(Precise, precise)
  PASS_VARIABLE(LongDoubleSeq, longdouble_seq)
  PASS_FIXED(Price, sparse_price)
  PASS_VARIABLE(WideUlongUnion, wide_ulong_union)
  PASS_VARIABLE(WideLonglongUnion, wide_longlong_union)
  PASS_VARIABLE(WideUlonglongUnion, wide_ulonglong_union)
};

class AnysServant : public POA_Interop::Anys {
 public:
  CORBA::Any* pass_any(CORBA::Long kind, const CORBA::Any& a, CORBA::Any& b, CORBA::Any_OUT_arg c) override {
    return guarded([&] {
      check_any("any in", a, kind, 1, "client");
      check_any("any inout", b, kind, 2, "client");
      b = v_any(kind, 3, "server", named);
      c = new CORBA::Any(v_any(kind, 4, "server", named));
      return new CORBA::Any(v_any(kind, 5, "server", named));
    });
  }
  AnySeq* pass_any_seq(const AnySeq& a, AnySeq& b, AnySeq_out c) override {
    return guarded([&] {
      check_any_seq("any_seq in", a, 1);
      check_any_seq("any_seq inout", b, 2);
      b = v_any_seq(3);
      c = new AnySeq(v_any_seq(4));
      return new AnySeq(v_any_seq(5));
    });
  }
  CORBA::TypeCode_ptr pass_typecode(CORBA::Long kind, CORBA::TypeCode_ptr a, CORBA::TypeCode_ptr& b,
                                    CORBA::TypeCode_OUT_arg c) override {
    return guarded([&] {
      check_typecode("TypeCode in", a, kind);
      check_typecode("TypeCode inout", b, kind + 1);
      CORBA::release(b);
      b = v_typecode(kind + 2);
      c = v_typecode(kind + 3);
      return v_typecode(kind + 4);
    });
  }
};

// ------------------------------------------------------------------ servants: the rest

class ExceptionsServant : public POA_Interop::Exceptions {
 public:
  void raise_empty() override { throw Empty(); }
  void raise_details() override { throw v_details(2); }
  CORBA::Long raise_lists(CORBA::Long a, CORBA::Long& b, CORBA::Long_out c) override {
    return guarded([&]() -> CORBA::Long {
      check("raise_lists in", a, v_long(1));
      check("raise_lists inout", b, v_long(2));
      c = 0;
      throw v_lists(4);
    });
  }
  char* raise_nearby() override { throw Interop::Exceptions::Nearby(v_long(4)); }
  char* raise_one_of(CORBA::Long which) override {
    switch (which) {
      case 1: throw Empty();
      case 2: throw v_details(3);
      case 3: throw Interop::Exceptions::Nearby(v_long(3));
      default: return CORBA::string_dup("none");
    }
  }
  void raise_system(const char* name, CORBA::ULong minor, Completion completed) override {
    CORBA::CompletionStatus status = completed == completed_yes  ? CORBA::COMPLETED_YES
                                     : completed == completed_no ? CORBA::COMPLETED_NO
                                                                 : CORBA::COMPLETED_MAYBE;
#define RAISE(NAME) \
  if (std::string(name) == #NAME) throw CORBA::NAME(minor, status);
    OMNIORB_FOR_EACH_SYS_EXCEPTION(RAISE)
    guarded([&] { throw Different(std::string("no standard exception is called ") + name); });
  }
  void raise_foreign() override { throw 42; }
};

class AttributesServant : public POA_Interop::Attributes {
 public:
  AttributesServant() : number_(v_long(1)), text_(v_string(1)), someone_(v_person(1)), numbers_(v_long_seq(1)), tint_(v_colour(1)) {
    v_matrix(1, chart_);
    v_matrix(2, second_);
  }
  char* version() override { return CORBA::string_dup("1.0"); }
  CORBA::Long number() override { return number_; }
  void number(CORBA::Long v) override {
    if (v == 13) throw CORBA::NO_PERMISSION(13, CORBA::COMPLETED_NO);
    number_ = v;
  }
  char* text() override { return CORBA::string_dup(text_.c_str()); }
  void text(const char* v) override { text_ = v; }
  Person* someone() override { return new Person(someone_); }
  void someone(const Person& v) override { someone_ = v; }
  LongSeq* numbers() override { return new LongSeq(numbers_); }
  void numbers(const LongSeq& v) override { numbers_ = v; }
  Colour tint() override { return tint_; }
  void tint(Colour v) override { tint_ = v; }
  Matrix_slice* chart() override { return Matrix_dup(chart_); }
  void chart(const Matrix v) override { Matrix_copy(chart_, v); }
  Matrix_slice* second_chart() override { return Matrix_dup(second_); }
  void second_chart(const Matrix v) override { Matrix_copy(second_, v); }
  Attributes_ptr myself() override { return _this(); }

 private:
  CORBA::Long number_;
  std::string text_;
  Person someone_;
  LongSeq numbers_;
  Colour tint_;
  Matrix chart_, second_;
};

static char* words(const char* where, CORBA::Long n) {
  return CORBA::string_dup((std::string(where) + " " + std::to_string(n)).c_str());
}

class TopServant : public POA_Interop::Top {
 public:
  char* from_top(CORBA::Long n) override { return words("only top", n); }
  CORBA::Long height() override { return height_; }
  void height(CORBA::Long v) override { height_ = v; }

 private:
  CORBA::Long height_ = 1;
};

class BottomServant : public POA_Interop::Bottom {
 public:
  char* from_top(CORBA::Long n) override { return words("top", n); }
  char* from_left(CORBA::Long n) override { return words("left", n); }
  char* from_right(CORBA::Long n) override { return words("right", n); }
  char* from_bottom(CORBA::Long n) override {
    if (n < 0) throw v_details(1);
    return words("bottom", n);
  }
  CORBA::Long height() override { return height_; }
  void height(CORBA::Long v) override { height_ = v; }

 private:
  CORBA::Long height_ = 1;
};

class ReferencesServant : public POA_Interop::References {
 public:
  CORBA::Object_ptr pass_object(CORBA::Object_ptr a, CORBA::Object_ptr& b, CORBA::Object_OUT_arg c) override {
    return guarded([&]() -> CORBA::Object_ptr {
      check_object("object in", a, 1, "client");
      check_object("object inout", b, 2, "client");
      CORBA::release(b);
      b = named("server-3");
      c = named("server-4");
      return named("server-5");
    });
  }
  Named_ptr pass_named(Named_ptr a, Named_ptr& b, Named_out c) override {
    return guarded([&] {
      check_named("named in", a, 1, "client");
      check_named("named inout", b, 2, "client");
      CORBA::release(b);
      b = named("server-3");
      c = named("server-4");
      return named("server-5");
    });
  }
  Named_ptr pass_nil(Named_ptr a, CORBA::Object_ptr& b, Named_out c) override {
    return guarded([&] {
      if (!CORBA::is_nil(a) || !CORBA::is_nil(b)) throw Different("nil: got a reference");
      b = CORBA::Object::_nil();
      c = Named::_nil();
      return Named::_nil();
    });
  }
  NamedSeq* pass_named_seq(const NamedSeq& a, NamedSeq& b, NamedSeq_out c) override {
    return guarded([&] {
      check_named_seq("named_seq in", a, 1, "client");
      check_named_seq("named_seq inout", b, 2, "client");
      b = v_named_seq(3, "server");
      c = new NamedSeq(v_named_seq(4, "server"));
      return new NamedSeq(v_named_seq(5, "server"));
    });
  }
  Holder* pass_holder(const Holder& a, Holder& b, Holder_out c) override {
    return guarded([&] {
      check_holder("holder in", a, 1, "client");
      check_holder("holder inout", b, 2, "client");
      b = v_holder(3, "server");
      c = new Holder(v_holder(4, "server"));
      return new Holder(v_holder(5, "server"));
    });
  }
  Callback_ptr bounce(Callback_ptr it) override { return Callback::_duplicate(it); }
  CORBA::Long call_back(Callback_ptr it, CORBA::Long depth) override {
    References_var self = _this();
    return 1 + it->ping(self, depth);
  }
  Named_ptr gone() override {
    NamedServant* servant = new NamedServant("gone");
    PortableServer::ObjectId_var id = root_poa->activate_object(servant);
    CORBA::Object_var reference = root_poa->id_to_reference(id);
    Named_var r = Named::_narrow(reference);
    root_poa->deactivate_object(id);
    servant->_remove_ref();
    return r._retn();
  }
};

class OnewaysServant : public POA_Interop::Oneways {
 public:
  void fire(const char* text, CORBA::Long number) override {
    std::lock_guard<std::mutex> guard(lock_);
    if (std::string("fire ") + std::to_string(number) != text) return;
    count_++;
    sum_ += number;
  }
  void reset() override {
    std::lock_guard<std::mutex> guard(lock_);
    count_ = 0;
    sum_ = 0;
  }
  CORBA::Long fired(CORBA::LongLong_out sum) override {
    std::lock_guard<std::mutex> guard(lock_);
    sum = sum_;
    return count_;
  }

 private:
  std::mutex lock_;
  CORBA::Long count_ = 0;
  CORBA::LongLong sum_ = 0;
};

class BulkServant : public POA_Interop::Bulk {
 public:
#define BULK(T, OP, MAKE)                                  \
  T* OP(const T& a) override {                             \
    return guarded([&] {                                   \
      T##_var wanted = MAKE(a.length(), 1);                \
      check_bulk(#OP, a, wanted.in());                     \
      return MAKE(a.length(), 2);                          \
    });                                                    \
  }
  BULK(OctetSeq, pass_octets, bulk_octets)
  BULK(LongSeq, pass_longs, bulk_longs)
  BULK(TextSeq, pass_texts, bulk_texts)
  PersonSeq* pass_people(const PersonSeq& a) override {
    return guarded([&] {
      PersonSeq_var wanted = bulk_people(a.length(), 1);
      check("pass_people", a, wanted.in());
      return bulk_people(a.length(), 2);
    });
  }
  DoubleSeq* pass_doubles(CORBA::Octet shift, const DoubleSeq& a) override {
    return guarded([&] {
      check("shift", shift, CORBA::Octet(255));
      DoubleSeq_var wanted = bulk_doubles(a.length(), 1);
      check_bulk("pass_doubles", a, wanted.in());
      return bulk_doubles(a.length(), 2);
    });
  }
  char* pass_string(const char* a) override {
    return guarded([&] {
      CORBA::ULong count = static_cast<CORBA::ULong>(std::strlen(a));
      CORBA::String_var wanted = bulk_string(count, 1);
      if (std::strcmp(a, wanted)) throw Different("pass_string: the texts differ");
      return bulk_string(count, 2);
    });
  }
};

class ForwardedServant : public POA_Interop::Forwarded {
 public:
  char* answered_by(const OctetSeq& payload, CORBA::ULong_out length) override {
    return guarded([&] {
      OctetSeq_var wanted = bulk_octets(payload.length(), 9);
      check_bulk("answered_by", payload, wanted.in());
      length = payload.length();
      return CORBA::string_dup("target");
    });
  }
};

class ForwardingLocator : public POA_PortableServer::ServantLocator {
 public:
  explicit ForwardingLocator(CORBA::Object_ptr to) : to_(CORBA::Object::_duplicate(to)) {}
  PortableServer::Servant preinvoke(const PortableServer::ObjectId&, PortableServer::POA_ptr, const char*,
                                    void*&) override {
    throw PortableServer::ForwardRequest(to_);
  }
  void postinvoke(const PortableServer::ObjectId&, PortableServer::POA_ptr, const char*, void*,
                  PortableServer::Servant) override {}

 private:
  CORBA::Object_var to_;
};

class ForwardingActivator : public POA_PortableServer::ServantActivator {
 public:
  explicit ForwardingActivator(CORBA::Object_ptr to) : to_(CORBA::Object::_duplicate(to)) {}
  PortableServer::Servant incarnate(const PortableServer::ObjectId&, PortableServer::POA_ptr) override {
    throw PortableServer::ForwardRequest(to_);
  }
  void etherealize(const PortableServer::ObjectId&, PortableServer::POA_ptr, PortableServer::Servant,
                   CORBA::Boolean, CORBA::Boolean) override {}

 private:
  CORBA::Object_var to_;
};

class CounterServant : public POA_Interop::Counter {
 public:
  CORBA::Long increment() override { return ++count_; }
  char* incarnation() override { return CORBA::string_dup(std::to_string(getpid()).c_str()); }

 private:
  CORBA::Long count_ = 0;
};

class KeywordsServant : public POA_Interop::Keywords {
 public:
  CORBA::Long fn(CORBA::Long match, CORBA::Long& let, CORBA::Long_out mut) override {
    mut = let;
    let = match;
    return 1;
  }
  CORBA::Long impl(CORBA::Long a) override { return a + 2; }
  CORBA::Long _cxx_class(CORBA::Long a) override { return a + 3; }
  CORBA::Long _cxx_virtual(CORBA::Long a) override { return a + 4; }
  CORBA::Long package(CORBA::Long a) override { return a + 5; }
  CORBA::Long self(CORBA::Long a) override { return a + 6; }
  CORBA::Long async(CORBA::Long a) override { return a + 7; }
  CORBA::Long interface(CORBA::Long a) override { return a + 8; }
  CORBA::Long _cxx_union(CORBA::Long a) override { return a + 9; }
  CORBA::Long CamelCase(CORBA::Long a) override { return a + 10; }
  CORBA::Long HTTPServer(CORBA::Long a) override { return a + 11; }
  Interop::Keywords::Words pass_words(const Interop::Keywords::Words& w) override {
    Interop::Keywords::Words r;
    r.type = w.loop;
    r.move = w.self;
    r._cxx_struct = w._cxx_class;
    r._cxx_class = w._cxx_struct;
    r.self = w.move;
    r.loop = w.type;
    return r;
  }
  Interop::Keywords::Verbs pass_verbs(Interop::Keywords::Verbs use) override {
    return use == Interop::Keywords::yield ? Interop::Keywords::_cxx_try : Interop::Keywords::yield;
  }
  CORBA::Long type() override { return type_; }
  void type(CORBA::Long v) override { type_ = v; }
  CORBA::Long _cxx_static() override { return static_; }
  void _cxx_static(CORBA::Long v) override { static_ = v; }

 private:
  CORBA::Long type_ = 0, static_ = 0;
};

// ------------------------------------------------------------------ the root

static PortableServer::POA_var poa_with(const char* name, CORBA::PolicyList& policies) {
  PortableServer::POAManager_var manager = root_poa->the_POAManager();
  return root_poa->create_POA(name, manager, policies);
}

template <class S>
static CORBA::Object_ptr activated() {
  S* servant = new S;
  PortableServer::ObjectId_var id = root_poa->activate_object(servant);
  CORBA::Object_var r = root_poa->id_to_reference(id);
  servant->_remove_ref();
  return r._retn();
}

class RootServant : public POA_Interop::Root {
 public:
  RootServant() {
    CORBA::Object_var target = activated<ForwardedServant>();
    {
      CORBA::PolicyList p;
      p.length(2);
      p[0] = root_poa->create_request_processing_policy(PortableServer::USE_SERVANT_MANAGER);
      p[1] = root_poa->create_servant_retention_policy(PortableServer::NON_RETAIN);
      by_locator_ = poa_with("locator", p);
      PortableServer::ServantLocator_var m = (new ForwardingLocator(target))->_this();
      by_locator_->set_servant_manager(m);
    }
    {
      CORBA::PolicyList p;
      p.length(2);
      p[0] = root_poa->create_request_processing_policy(PortableServer::USE_SERVANT_MANAGER);
      p[1] = root_poa->create_servant_retention_policy(PortableServer::RETAIN);
      by_activator_ = poa_with("activator", p);
      PortableServer::ServantActivator_var m = (new ForwardingActivator(target))->_this();
      by_activator_->set_servant_manager(m);
    }
    {
      CORBA::PolicyList p;
      p.length(2);
      p[0] = root_poa->create_lifespan_policy(PortableServer::PERSISTENT);
      p[1] = root_poa->create_id_assignment_policy(PortableServer::USER_ID);
      PortableServer::POA_var persistent = poa_with("persistent", p);
      PortableServer::ObjectId_var id = PortableServer::string_to_ObjectId("counter");
      persistent->activate_object_with_id(id, new CounterServant);
      counter_ = persistent->id_to_reference(id);
    }
  }

  char* peer() override { return CORBA::string_dup((std::string("omniORB ") + omniORB::versionString()).c_str()); }
  char* last_mismatch() override {
    std::lock_guard<std::mutex> guard(mismatch_lock);
    return CORBA::string_dup(mismatch.c_str());
  }
#define PART(T, OP)                              \
  T##_ptr OP() override {                        \
    static CORBA::Object_var it = activated<T##Servant>(); \
    return T::_narrow(it);                       \
  }
  PART(Primitives, get_primitives)
  PART(Texts, get_texts)
  PART(Structs, get_structs)
  PART(Unions, get_unions)
  PART(Sequences, get_sequences)
  PART(Arrays, get_arrays)
  PART(Fixeds, get_fixeds)
  PART(Anys, get_anys)
  PART(Exceptions, get_exceptions)
  PART(Attributes, get_attributes)
  PART(Bottom, get_bottom)
  Top_ptr get_top() override { return get_bottom(); }
  PART(Top, get_only_top)
  PART(References, get_references)
  PART(Oneways, get_oneways)
  PART(Bulk, get_bulk)
  PART(Keywords, get_keywords)
  Forwarded_ptr get_forwarded(ForwardMode how) override {
    PortableServer::POA_var poa = how == by_locator ? by_locator_ : by_activator_;
    CORBA::Object_var r = poa->create_reference("IDL:corbie.test/Interop/Forwarded:1.0");
    return Forwarded::_unchecked_narrow(r);
  }
  Counter_ptr get_counter() override { return Counter::_narrow(counter_); }
  Constants* get_constants() override { return new Constants(v_constants()); }
  CORBA::Object_ptr get_extensions() override {
    static CORBA::Object_var it = activated<ExtensionsServant>();
    return CORBA::Object::_duplicate(it);
  }
  CORBA::Object_ptr get_asynchrony() override {
    static CORBA::Object_var it = start_host(dynamic_calls);
    return CORBA::Object::_duplicate(it);
  }
  CORBA::Object_ptr get_yard() override { return CORBA::Object::_nil(); }

 private:
  PortableServer::POA_var by_locator_, by_activator_;
  CORBA::Object_var counter_;
};

CORBA::Object_ptr start_server(CORBA::ORB_ptr orb) {
  RootServant* root = new RootServant;
  PortableServer::ObjectId_var id = root_poa->activate_object(root);
  // The plain object key of corbaloc:iiop:host:port/InteropRoot
  CORBA::Object_var ins = orb->resolve_initial_references("omniINSPOA");
  PortableServer::POA_var ins_poa = PortableServer::POA::_narrow(ins);
  PortableServer::POAManager_var manager = ins_poa->the_POAManager();
  manager->activate();
  PortableServer::ObjectId_var key = PortableServer::string_to_ObjectId("InteropRoot");
  ins_poa->activate_object_with_id(key, root);
  return root_poa->id_to_reference(id);
}
