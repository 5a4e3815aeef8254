#include "client.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <thread>
#include <utility>
#include <vector>

#include "adapter_client.h"
#include "async_client.h"

namespace {

std::vector<std::pair<std::string, std::function<void()>>> features;
Root_var root;

void feature(const std::string& name, std::function<void()> body) { features.emplace_back(name, std::move(body)); }

void expect(bool condition, const std::string& what) {
  if (!condition) throw Different(what);
}

// ------------------------------------------------------------------ pass in every direction

#define C_PASS(T, NAME)                            \
  feature(#NAME, [it] {                            \
    T b = v_##NAME(2), c = T();                    \
    T r = it->pass_##NAME(v_##NAME(1), b, c);      \
    check<T>(#NAME " inout", b, v_##NAME(3));      \
    check<T>(#NAME " out", c, v_##NAME(4));        \
    check<T>(#NAME " return", r, v_##NAME(5));     \
  });
#define C_VARIABLE(T, NAME)                        \
  feature(#NAME, [it] {                            \
    T a = v_##NAME(1), b = v_##NAME(2);            \
    T##_var c;                                     \
    T##_var r = it->pass_##NAME(a, b, c.out());    \
    check<T>(#NAME " inout", b, v_##NAME(3));      \
    check<T>(#NAME " out", c.in(), v_##NAME(4));   \
    check<T>(#NAME " return", r.in(), v_##NAME(5)); \
  });
#define C_TEXT(NAME)                                                       \
  feature(#NAME, [it] {                                                    \
    CORBA::String_var b = CORBA::string_dup(v_##NAME(2).c_str()), c;       \
    CORBA::String_var r = it->pass_##NAME(v_##NAME(1).c_str(), b.inout(), c.out()); \
    check_text(#NAME " inout", b, v_##NAME(3));                            \
    check_text(#NAME " out", c, v_##NAME(4));                              \
    check_text(#NAME " return", r, v_##NAME(5));                           \
  });
#define C_WIDE(NAME)                                                        \
  feature(#NAME, [it] {                                                     \
    CORBA::WString_var b = CORBA::wstring_dup(v_##NAME(2).c_str()), c;      \
    CORBA::WString_var r = it->pass_##NAME(v_##NAME(1).c_str(), b.inout(), c.out()); \
    check_wide(#NAME " inout", b, v_##NAME(3));                             \
    check_wide(#NAME " out", c, v_##NAME(4));                               \
    check_wide(#NAME " return", r, v_##NAME(5));                            \
  });
#define C_ARRAY(T, ELEMENT, NAME)                                                                \
  feature(#NAME, [it] {                                                                          \
    T a, b, wanted;                                                                              \
    const size_t count = sizeof(T) / sizeof(ELEMENT);                                            \
    v_##NAME(1, a);                                                                              \
    v_##NAME(2, b);                                                                              \
    T##_var c = T##_alloc();                                                                     \
    T##_var r = it->pass_##NAME(a, b, c.out());                                                  \
    v_##NAME(3, wanted);                                                                         \
    check_elements(#NAME " inout", (const ELEMENT*)b, (const ELEMENT*)wanted, count);            \
    v_##NAME(4, wanted);                                                                         \
    check_elements(#NAME " out", (const ELEMENT*)c.in(), (const ELEMENT*)wanted, count);         \
    v_##NAME(5, wanted);                                                                         \
    check_elements(#NAME " return", (const ELEMENT*)r.in(), (const ELEMENT*)wanted, count);      \
  });

void primitives() {
  Primitives_var it = root->get_primitives();
  C_PASS(CORBA::Boolean, boolean)
  C_PASS(CORBA::Char, char)
  C_PASS(CORBA::WChar, wchar)
  C_PASS(CORBA::Octet, octet)
  C_PASS(CORBA::Short, short)
  C_PASS(CORBA::UShort, ushort)
  C_PASS(CORBA::Long, long)
  C_PASS(CORBA::ULong, ulong)
  C_PASS(CORBA::LongLong, longlong)
  C_PASS(CORBA::ULongLong, ulonglong)
  C_PASS(CORBA::Float, float)
  C_PASS(CORBA::Double, double)
  C_PASS(CORBA::Float, float_nan)
  C_PASS(CORBA::Double, double_nan)
}

void texts() {
  Texts_var it = root->get_texts();
  C_TEXT(string)
  C_TEXT(text)
  C_TEXT(short_text)
  C_TEXT(latin1)
  C_TEXT(unicode)
  C_PASS(CORBA::Char, latin1_char)
  C_WIDE(wstring)
  C_WIDE(wide_text)
  C_WIDE(short_wide_text)
  C_WIDE(surrogates)
}

void structs() {
  Structs_var it = root->get_structs();
  C_PASS(Number, number)
  C_PASS(Amount, amount)
  C_PASS(Colour, colour)
  C_PASS(Point, point)
  C_PASS(Mixed, mixed)
  C_VARIABLE(Person, person)
  C_VARIABLE(Company, company)
  C_VARIABLE(Tree, tree)
  C_VARIABLE(Link, link)
}

void unions() {
  Unions_var it = root->get_unions();
  C_VARIABLE(BooleanUnion, boolean_union)
  C_VARIABLE(CharUnion, char_union)
  C_VARIABLE(ShortUnion, short_union)
  C_VARIABLE(UshortUnion, ushort_union)
  C_VARIABLE(LongUnion, long_union)
  C_VARIABLE(UlongUnion, ulong_union)
  C_VARIABLE(LonglongUnion, longlong_union)
  C_VARIABLE(UlonglongUnion, ulonglong_union)
  C_VARIABLE(ColourUnion, colour_union)
  C_VARIABLE(SparseUnion, sparse_union)
  C_VARIABLE(SparseUnionSeq, sparse_union_seq)
}

void sequences() {
  Sequences_var it = root->get_sequences();
  C_VARIABLE(BooleanSeq, boolean_seq)
  C_VARIABLE(CharSeq, char_seq)
  C_VARIABLE(WcharSeq, wchar_seq)
  C_VARIABLE(OctetSeq, octet_seq)
  C_VARIABLE(ShortSeq, short_seq)
  C_VARIABLE(UshortSeq, ushort_seq)
  C_VARIABLE(LongSeq, long_seq)
  C_VARIABLE(UlongSeq, ulong_seq)
  C_VARIABLE(LonglongSeq, longlong_seq)
  C_VARIABLE(UlonglongSeq, ulonglong_seq)
  C_VARIABLE(FloatSeq, float_seq)
  C_VARIABLE(DoubleSeq, double_seq)
  C_VARIABLE(TextSeq, text_seq)
  C_VARIABLE(WideTextSeq, wide_text_seq)
  C_VARIABLE(ColourSeq, colour_seq)
  C_VARIABLE(PointSeq, point_seq)
  C_VARIABLE(MixedSeq, mixed_seq)
  C_VARIABLE(PersonSeq, person_seq)
  C_VARIABLE(NumberSeq6, number_seq6)
  C_VARIABLE(ShortTextSeq7, short_text_seq7)
  C_VARIABLE(OctetSeqSeq, octet_seq_seq)
  C_VARIABLE(LongSeqSeq, long_seq_seq)
  C_VARIABLE(MatrixSeq, matrix_seq)
}

void arrays() {
  Arrays_var it = root->get_arrays();
  C_ARRAY(Row, CORBA::Long, row)
  C_ARRAY(Matrix, CORBA::Short, matrix)
  C_ARRAY(Digest, CORBA::Octet, digest)
  C_ARRAY(TextArray, CORBA::String_member, text_array)
  C_ARRAY(PointArray, Point, point_array)
  C_ARRAY(Cube, CORBA::Double, cube)
  C_ARRAY(LongSeqArray, LongSeq, long_seq_array)
}

void fixeds() {
  Fixeds_var it = root->get_fixeds();
  C_PASS(Price, price)
  C_PASS(Huge, huge)
  C_PASS(Fraction, fraction)
  C_PASS(Tenth, tenth)
  C_VARIABLE(PriceSeq, price_seq)
}

Extensions_ptr extensions() {
  CORBA::Object_var o = root->get_extensions();
  Extensions_ptr it = Extensions::_narrow(o);
  expect(!CORBA::is_nil(it), "the server has no extensions");
  return it;
}

struct LazyExtensions {
  Extensions_ptr operator->() const {
    if (CORBA::is_nil(it)) it = extensions();
    return it;
  }
  static Extensions_var it;
};
Extensions_var LazyExtensions::it;

void wide_types() {
  LazyExtensions it;
  C_PASS(CORBA::LongDouble, longdouble)
  C_PASS(Precise, precise)
  C_VARIABLE(LongDoubleSeq, longdouble_seq)
  C_PASS(Price, sparse_price)
  C_VARIABLE(WideUlongUnion, wide_ulong_union)
  C_VARIABLE(WideLonglongUnion, wide_longlong_union)
  C_VARIABLE(WideUlonglongUnion, wide_ulonglong_union)
}

// ------------------------------------------------------------------ any and TypeCode

void any_feature(const std::string& name, std::vector<long> kinds) {
  feature(name, [=] {
    Anys_var it = root->get_anys();
    for (long kind : kinds) {
      const std::string tag = "any of kind " + std::to_string(kind);
      CORBA::Any a = v_any(kind, 1, "client", named), b = v_any(kind, 2, "client", named);
      CORBA::Any_var c;
      CORBA::Any_var r = it->pass_any(kind, a, b, c.out());
      check_any((tag + " inout").c_str(), b, kind, 3, "server");
      check_any((tag + " out").c_str(), c.in(), kind, 4, "server");
      check_any((tag + " return").c_str(), r.in(), kind, 5, "server");
    }
  });
}

void anys() {
  any_feature("any_primitive", {0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  any_feature("any_wide", {3, 15});
  any_feature("any_string", {13, 14});
  any_feature("any_fixed", {16});
  any_feature("any_struct", {17, 18, 19, 20, 37});
  any_feature("any_recursive", {21, 22});
  any_feature("any_union", {23, 24, 39});
  any_feature("any_sequence", {25, 26, 27, 36, 38});
  any_feature("any_array", {28, 29, 40});
  any_feature("any_alias", {30, 31});
  any_feature("any_exception", {32});
  any_feature("any_nested", {33});
  any_feature("any_typecode", {34});
  any_feature("any_reference", {35});
  Anys_var it = root->get_anys();
  feature("any_seq", [it] {
    AnySeq a = v_any_seq(1), b = v_any_seq(2);
    AnySeq_var c;
    AnySeq_var r = it->pass_any_seq(a, b, c.out());
    check_any_seq("any_seq inout", b, 3);
    check_any_seq("any_seq out", c.in(), 4);
    check_any_seq("any_seq return", r.in(), 5);
  });
  feature("typecode", [it] {
    for (long kind = 0; kind < ANY_KINDS; kind++) {
      const std::string tag = "TypeCode of kind " + std::to_string(kind);
      CORBA::TypeCode_var a = v_typecode(kind), b = v_typecode(kind + 1), c;
      CORBA::TypeCode_var r = it->pass_typecode(kind, a, b.inout(), c.out());
      check_typecode((tag + " inout").c_str(), b, kind + 2);
      check_typecode((tag + " out").c_str(), c, kind + 3);
      check_typecode((tag + " return").c_str(), r, kind + 4);
    }
  });
}

// ------------------------------------------------------------------ exceptions

void exceptions() {
  Exceptions_var it = root->get_exceptions();
  feature("exception_empty", [it] {
    try {
      it->raise_empty();
    } catch (const Empty&) {
      return;
    }
    throw Different("no exception");
  });
  feature("exception_members", [it] {
    try {
      it->raise_details();
    } catch (const Details& d) {
      check("Details", d, v_details(2));
      return;
    }
    throw Different("no exception");
  });
  feature("exception_sequences", [it] {
    try {
      CORBA::Long b = v_long(2), c;
      it->raise_lists(v_long(1), b, c);
    } catch (const Lists& l) {
      check("Lists", l, v_lists(4));
      return;
    }
    throw Different("no exception");
  });
  feature("exception_one_of", [it] {
    CORBA::String_var none = it->raise_one_of(0);
    check_text("raise_one_of", none, "none");
    bool empty = false, details = false, nearby = false;
    try { it->raise_one_of(1); } catch (const Empty&) { empty = true; }
    try { it->raise_one_of(2); } catch (const Details& d) { check("Details", d, v_details(3)); details = true; }
    try { it->raise_one_of(3); } catch (const Exceptions::Nearby& n) { details &= n.number == v_long(3); nearby = true; }
    expect(empty && details && nearby, "another exception than the one asked for");
  });
  feature("exception_nested_scope", [it] {
    try {
      it->raise_nearby();
    } catch (const Exceptions::Nearby& n) {
      check("Nearby", n.number, v_long(4));
      return;
    }
    throw Different("no exception");
  });
  feature("exception_system", [it] {
    const Completion ways[] = {completed_yes, completed_no, completed_maybe};
    const CORBA::CompletionStatus statuses[] = {CORBA::COMPLETED_YES, CORBA::COMPLETED_NO, CORBA::COMPLETED_MAYBE};
    CORBA::ULong minor = 0x4f4d0001;
#define RAISED(NAME)                                                                 \
  for (int i = 0; i < 3; i++) {                                                      \
    bool raised = false;                                                             \
    minor += 77;                                                                     \
    try {                                                                            \
      it->raise_system(#NAME, minor, ways[i]);                                       \
    } catch (const CORBA::NAME& e) {                                                 \
      raised = true;                                                                 \
      expect(e.minor() == minor, #NAME ": minor code " + std::to_string(e.minor())); \
      expect(e.completed() == statuses[i], #NAME ": completion status");             \
    }                                                                                \
    expect(raised, #NAME ": not raised");                                            \
  }
    OMNIORB_FOR_EACH_SYS_EXCEPTION(RAISED)
  });
  feature("exception_foreign", [it] {
    try {
      it->raise_foreign();
    } catch (const CORBA::UNKNOWN&) {
      return;
    }
    throw Different("no exception");
  });
  feature("unknown_operation", [] {
    // A Top that is called as a Bottom.
    Top_var top = root->get_only_top();
    Bottom_var wrong = Bottom::_unchecked_narrow(top);
    try {
      CORBA::String_var s = wrong->from_bottom(1);
    } catch (const CORBA::BAD_OPERATION& e) {
      expect(e.completed() == CORBA::COMPLETED_NO, "BAD_OPERATION: completion status");
      return;
    }
    throw Different("no exception");
  });
}

// ------------------------------------------------------------------ attributes and inheritance

void attributes() {
  Attributes_var it = root->get_attributes();
  feature("attribute_readonly", [it] {
    CORBA::String_var v = it->version();
    check_text("version", v, "1.0");
    Attributes_var self = it->myself();
    CORBA::String_var again = self->version();
    check_text("myself.version", again, "1.0");
  });
  feature("attributes", [it] {
    for (long n = 2; n >= 1; n--) {
      it->number(v_long(n));
      it->text(v_string(n).c_str());
      it->someone(v_person(n));
      it->numbers(v_long_seq(n));
      it->tint(v_colour(n));
      Matrix m, second;
      v_matrix(n, m);
      v_matrix(n + 1, second);
      it->chart(m);
      it->second_chart(second);
      check("number", it->number(), v_long(n));
      CORBA::String_var text = it->text();
      check_text("text", text, v_string(n));
      Person_var someone = it->someone();
      check("someone", someone.in(), v_person(n));
      LongSeq_var numbers = it->numbers();
      check("numbers", numbers.in(), v_long_seq(n));
      check("tint", it->tint(), v_colour(n));
      Matrix_var chart = it->chart(), second_chart = it->second_chart();
      check_elements("chart", (const CORBA::Short*)chart.in(), (const CORBA::Short*)m, 6);
      check_elements("second_chart", (const CORBA::Short*)second_chart.in(), (const CORBA::Short*)second, 6);
    }
  });
  feature("attribute_refused", [it] {
    try {
      it->number(13);
    } catch (const CORBA::NO_PERMISSION& e) {
      expect(e.minor() == 13, "minor code");
      return;
    }
    throw Different("no exception");
  });
  feature("inheritance", [] {
    Bottom_var it = root->get_bottom();
    CORBA::String_var s = it->from_top(1);
    check_text("from_top", s, "top 1");
    s = it->from_left(2);
    check_text("from_left", s, "left 2");
    s = it->from_right(3);
    check_text("from_right", s, "right 3");
    s = it->from_bottom(4);
    check_text("from_bottom", s, "bottom 4");
    Left_var left = Left::_duplicate(it);
    s = left->from_top(5);
    check_text("from_top by Left", s, "top 5");
    left->height(v_long(4));
    check("height", it->height(), v_long(4));
    bool refused = false;
    try { s = it->from_bottom(-1); } catch (const Details& d) { check("Details", d, v_details(1)); refused = true; }
    expect(refused, "from_bottom(-1): no exception");
  });
  feature("narrow", [] {
    Top_var top = root->get_top(), only = root->get_only_top();
    CORBA::String_var s = top->from_top(6);
    check_text("from_top", s, "top 6");
    Bottom_var bottom = Bottom::_narrow(top);
    expect(!CORBA::is_nil(bottom), "the Top that is a Bottom does not narrow to it");
    s = bottom->from_right(7);
    check_text("from_right", s, "right 7");
    Right_var right = Right::_narrow(only);
    expect(CORBA::is_nil(right), "a mere Top narrows to Right");
    s = only->from_top(8);
    check_text("from_top", s, "only top 8");
  });
  feature("implicit_operations", [] {
    Top_var top = root->get_top();
    expect(top->_is_a("IDL:corbie.test/Interop/Bottom:1.0"), "_is_a its own type");
    expect(top->_is_a("IDL:corbie.test/Interop/Left:1.0"), "_is_a a base");
    expect(top->_is_a("IDL:omg.org/CORBA/Object:1.0"), "_is_a Object");
    expect(!top->_is_a("IDL:corbie.test/Interop/Named:1.0"), "_is_a something else");
    expect(!top->_non_existent(), "_non_existent of a living object");
    References_var references = root->get_references();
    Named_var gone = references->gone();
    // omniORB raises OBJECT_NOT_EXIST within _non_existent and answers TRUE itself
    expect(gone->_non_existent(), "_non_existent of a deactivated object");
  });
  feature("object_not_exist", [] {
    References_var references = root->get_references();
    Named_var gone = references->gone();
    try {
      CORBA::String_var s = gone->name();
    } catch (const CORBA::OBJECT_NOT_EXIST& e) {
      expect(e.completed() == CORBA::COMPLETED_NO, "OBJECT_NOT_EXIST: completion status");
      return;
    }
    throw Different("no exception");
  });
}

// ------------------------------------------------------------------ references

void references() {
  References_var it = root->get_references();
  feature("object", [it] {
    CORBA::Object_var a = named("client-1"), b = named("client-2"), c;
    CORBA::Object_var r = it->pass_object(a, b.inout(), c.out());
    check_object("object inout", b, 3, "server");
    check_object("object out", c, 4, "server");
    check_object("object return", r, 5, "server");
  });
  feature("named", [it] {
    Named_var a = named("client-1"), b = named("client-2"), c;
    Named_var r = it->pass_named(a, b.inout(), c.out());
    check_named("named inout", b, 3, "server");
    check_named("named out", c, 4, "server");
    check_named("named return", r, 5, "server");
  });
  feature("nil", [it] {
    CORBA::Object_var b;
    Named_var c;
    Named_var r = it->pass_nil(Named::_nil(), b.inout(), c.out());
    expect(CORBA::is_nil(b) && CORBA::is_nil(c) && CORBA::is_nil(r), "got a reference");
  });
  feature("named_seq", [it] {
    NamedSeq a = v_named_seq(1, "client"), b = v_named_seq(2, "client");
    NamedSeq_var c;
    NamedSeq_var r = it->pass_named_seq(a, b, c.out());
    check_named_seq("named_seq inout", b, 3, "server");
    check_named_seq("named_seq out", c.in(), 4, "server");
    check_named_seq("named_seq return", r.in(), 5, "server");
  });
  feature("holder", [it] {
    Holder a = v_holder(1, "client"), b = v_holder(2, "client");
    Holder_var c;
    Holder_var r = it->pass_holder(a, b, c.out());
    check_holder("holder inout", b, 3, "server");
    check_holder("holder out", c.in(), 4, "server");
    check_holder("holder return", r.in(), 5, "server");
  });
  feature("callback", [it] {
    CallbackServant* servant = new CallbackServant;
    PortableServer::ObjectId_var id = root_poa->activate_object(servant);
    CORBA::Object_var reference = root_poa->id_to_reference(id);
    Callback_var mine = Callback::_narrow(reference);
    servant->_remove_ref();
    Callback_var back = it->bounce(mine);
    expect(back->_is_equivalent(mine), "the reference that came back is another one");
    check("depth 0", it->call_back(mine, 0), CORBA::Long(2));
    check("depth 5", it->call_back(mine, 5), CORBA::Long(12));
    root_poa->deactivate_object(id);
  });
}

// ------------------------------------------------------------------ oneway, bulk, forwarding, the rest

void others(const ClientOptions& options) {
  feature("oneway", [] {
    Oneways_var it = root->get_oneways();
    const CORBA::Long count = 1000;
    CORBA::LongLong sum = 0;
    const auto wait = [] { std::this_thread::sleep_for(std::chrono::milliseconds(10)); };
    // A oneway may be overtaken, so each step is waited for: something to reset, then the reset.
    it->fire("fire 1", 1);
    for (int i = 0; i < 500 && it->fired(sum) == 0; i++) wait();
    it->reset();
    for (int i = 0; i < 500 && it->fired(sum) != 0; i++) wait();
    for (CORBA::Long i = 1; i <= count; i++) it->fire(("fire " + std::to_string(i)).c_str(), i);
    CORBA::Long fired = 0;
    for (int i = 0; i < 500 && (fired = it->fired(sum)) < count; i++) wait();
    check("fired", fired, count);
    check("sum", sum, CORBA::LongLong(count) * (count + 1) / 2);
  });

#define C_BULK(NAME, T, OP, MAKE, COUNT)                  \
  feature(NAME, [=] {                                     \
    Bulk_var it = root->get_bulk();                       \
    const CORBA::ULong count = COUNT;                     \
    T##_var a = MAKE(count, 1);                           \
    T##_var r = it->OP(a.in());                           \
    T##_var wanted = MAKE(count, 2);                      \
    check_bulk(NAME, r.in(), wanted.in());                \
  });
  const CORBA::ULong bulk = options.bulk;
  C_BULK("bulk_octets", OctetSeq, pass_octets, bulk_octets, bulk)
  C_BULK("bulk_longs", LongSeq, pass_longs, bulk_longs, bulk / 4)
  C_BULK("bulk_texts", TextSeq, pass_texts, bulk_texts, bulk / 32)
  feature("bulk_structs", [=] {
    Bulk_var it = root->get_bulk();
    PersonSeq_var a = bulk_people(bulk / 256, 1);
    PersonSeq_var r = it->pass_people(a.in());
    PersonSeq_var wanted = bulk_people(bulk / 256, 2);
    check("bulk_structs", r.in(), wanted.in());
  });
  feature("bulk_doubles", [=] {
    Bulk_var it = root->get_bulk();
    DoubleSeq_var a = bulk_doubles(bulk / 8, 1);
    DoubleSeq_var r = it->pass_doubles(255, a.in());
    DoubleSeq_var wanted = bulk_doubles(bulk / 8, 2);
    check_bulk("bulk_doubles", r.in(), wanted.in());
  });
  feature("bulk_string", [=] {
    Bulk_var it = root->get_bulk();
    CORBA::String_var a = bulk_string(bulk, 1);
    CORBA::String_var r = it->pass_string(a.in());
    CORBA::String_var wanted = bulk_string(bulk, 2);
    expect(std::strcmp(r, wanted) == 0, "the texts differ");
  });
  // Sizes round the places where messages are cut into fragments.
  feature("bulk_sizes", [] {
    Bulk_var it = root->get_bulk();
    std::vector<CORBA::ULong> sizes;
    for (CORBA::ULong n = 0; n < 40; n++) sizes.push_back(n);
    for (CORBA::ULong base : {1024u, 2048u, 4096u, 8192u, 16384u, 32768u, 65536u})
      for (CORBA::ULong n = base - 72; n <= base + 8; n += 5) sizes.push_back(n);
    for (CORBA::ULong size : sizes) {
      OctetSeq_var a = bulk_octets(size, 1);
      OctetSeq_var r = it->pass_octets(a.in());
      OctetSeq_var wanted = bulk_octets(size, 2);
      check_bulk(("bulk_sizes " + std::to_string(size)).c_str(), r.in(), wanted.in());
    }
  });

  const std::pair<const char*, ForwardMode> ways[] = {{"forward_by_locator", by_locator}, {"forward_by_activator", by_activator}};
  for (auto way : ways)
    feature(way.first, [way, bulk] {
      // Small then large over one reference; large first over another; typed by _is_a over a third.
      const CORBA::ULong large = std::min(bulk, CORBA::ULong(100000));
      for (CORBA::ULong first : {CORBA::ULong(8), large}) {
        Forwarded_var it = root->get_forwarded(way.second);
        for (CORBA::ULong size : {first, large, CORBA::ULong(0)}) {
          OctetSeq_var payload = bulk_octets(size, 9);
          CORBA::ULong length;
          CORBA::String_var who = it->answered_by(payload.in(), length);
          check_text("answered_by", who, "target");
          check("length", length, size);
        }
      }
      Forwarded_var it = root->get_forwarded(way.second);
      expect(!it->_non_existent(), "_non_existent of a forwarded object");
      CORBA::Object_var plain = CORBA::Object::_duplicate(it);
      expect(plain->_is_a("IDL:corbie.test/Interop/Forwarded:1.0"), "_is_a of a forwarded object");
    });

  feature("keywords", [] {
    Keywords_var it = root->get_keywords();
    CORBA::Long let = 7, mut = 0;
    check("fn", it->fn(5, let, mut), CORBA::Long(1));
    check("let", let, CORBA::Long(5));
    check("mut", mut, CORBA::Long(7));
    check("impl", it->impl(100), CORBA::Long(102));
    check("class", it->_cxx_class(100), CORBA::Long(103));
    check("virtual", it->_cxx_virtual(100), CORBA::Long(104));
    check("package", it->package(100), CORBA::Long(105));
    check("self", it->self(100), CORBA::Long(106));
    check("async", it->async(100), CORBA::Long(107));
    check("interface", it->interface(100), CORBA::Long(108));
    check("union", it->_cxx_union(100), CORBA::Long(109));
    check("CamelCase", it->CamelCase(100), CORBA::Long(110));
    check("HTTPServer", it->HTTPServer(100), CORBA::Long(111));
    Keywords::Words w;
    w.type = 1; w.move = 2; w._cxx_struct = 3; w._cxx_class = 4; w.self = 5; w.loop = 6;
    Keywords::Words r = it->pass_words(w);
    expect(r.type == 6 && r.move == 5 && r._cxx_struct == 4 && r._cxx_class == 3 && r.self == 2 && r.loop == 1, "words");
    check("verbs", it->pass_verbs(Keywords::yield), Keywords::_cxx_try);
    check("verbs", it->pass_verbs(Keywords::final), Keywords::yield);
  });
  feature("keyword_attributes", [] {
    Keywords_var it = root->get_keywords();
    it->type(31);
    it->_cxx_static(41);
    check("type", it->type(), CORBA::Long(31));
    check("static", it->_cxx_static(), CORBA::Long(41));
  });
  feature("constants", [] {
    Constants_var c = root->get_constants();
    check("constants", c.in(), v_constants());
  });
}

std::string reason_of(const CORBA::SystemException& e) {
  char text[160];
  const char* minor = e.NP_minorString();
  std::snprintf(text, sizeof text, "%s minor 0x%08x %s%s%s", e._name(), e.minor(),
                e.completed() == CORBA::COMPLETED_YES ? "COMPLETED_YES" : e.completed() == CORBA::COMPLETED_NO ? "COMPLETED_NO" : "COMPLETED_MAYBE",
                minor ? " " : "", minor ? minor : "");
  std::string reason = text;
  if (e.minor() == 0x4342ffff) {
    try {
      CORBA::String_var why = root->last_mismatch();
      reason += std::string("; server: ") + why.in();
    } catch (...) {
    }
  }
  return reason;
}

// Says what went wrong, if something did.
bool run_quietly(const std::string& name, const std::function<void()>& body) {
  std::string reason;
  try {
    body();
    return true;
  } catch (const Different& d) {
    reason = d.what();
  } catch (const CORBA::SystemException& e) {
    reason = reason_of(e);
  } catch (const CORBA::Exception& e) {
    reason = e._name();
  } catch (const std::exception& e) {
    reason = e.what();
  }
  for (char& c : reason)
    if (c == '\n') c = ' ';
  std::cout << "FAIL " << name << " " << reason << std::endl;
  return false;
}

bool run_feature(const std::string& name, const std::function<void()>& body) {
  if (!run_quietly(name, body)) return false;
  std::cout << "ok " << name << std::endl;
  return true;
}

// Each feature prepares, the server is killed and started again while this waits, then each looks.
int run_restart(CORBA::ORB_ptr orb, const ClientOptions& options) {
  std::vector<std::pair<std::string, std::function<void()>>> prepared;
  for (const RestartFeature& f : restart_features(orb, root)) {
    if (!options.features.empty() && !options.features.count(f.name)) continue;
    std::function<void()> afterwards;
    if (run_quietly(f.name, [&] { afterwards = f.prepare(); })) prepared.emplace_back(f.name, afterwards);
  }
  std::cout << "restart now" << std::endl;
  std::string line;
  std::getline(std::cin, line);
  int failed = 0;
  for (const auto& f : prepared) failed += !run_feature(f.first, f.second);
  return failed;
}

}  // namespace

int run_client(CORBA::ORB_ptr orb, CORBA::Object_ptr target, const ClientOptions& options) {
  root = Root::_narrow(target);
  if (CORBA::is_nil(root)) throw Different("the reference is not a Root");
  CORBA::String_var peer = root->peer();
  std::cout << "peer " << peer << std::endl;
  if (options.restart) return run_restart(orb, options);
  primitives();
  texts();
  structs();
  unions();
  sequences();
  arrays();
  fixeds();
  wide_types();
  anys();
  exceptions();
  attributes();
  references();
  others(options);
  async_features(orb, root, feature);
  adapter_features(orb, root, feature);
  int failed = 0;
  for (const auto& f : features)
    if (options.features.empty() || options.features.count(f.first)) failed += !run_feature(f.first, f.second);
  return failed;
}
