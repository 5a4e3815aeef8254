// Prints the octets of anys as omniORB writes them; see README.md for the command.
#include <cstdio>
#include "golden.hh"
#include <omniORB4/codeSets.h>

static void show(const char* name, const CORBA::Any& value, bool big) {
  cdrMemoryStream s(1024, 1);
  GIOP::Version v = {1, 2};
  s.TCS_C(_OMNI_NS(omniCodeSet)::getTCS_C(0x00010001, v));
  s.TCS_W(_OMNI_NS(omniCodeSet)::getTCS_W(0x00010109, v));
  s.setByteSwapFlag(!big);
  value >>= s;
  printf("%s %s ", name, big ? "big" : "little");
  const unsigned char* p = (const unsigned char*)s.bufPtr();
  for (unsigned i = 0; i < s.bufSize(); ++i) printf("%02x", p[i]);
  printf("\n");
}

static Golden::Mixed mixed() {
  Golden::Mixed m;
  m.o = 1; m.d = -2.5; m.b = true; m.ll = -3; m.c = 'x'; m.s = -4; m.f = 0.5;
  m.w = 0x20ac; m.ul = 4000000000u;
  return m;
}

int main(int argc, char** argv) {
  CORBA::ORB_var orb = CORBA::ORB_init(argc, argv);
  for (int big = 0; big < 2; ++big) {
    CORBA::Any a;
    a <<= (CORBA::Long)-7; show("long", a, big);
    a <<= "Gr\xfc\xdf" "e"; show("string", a, big);
    CORBA::WChar text[] = {'a', 0x20ac, 0};
    a <<= (const CORBA::WChar*)text; show("wstring", a, big);
    CORBA::WChar empty[] = {0};
    a <<= (const CORBA::WChar*)empty; show("empty_wstring", a, big);
    a <<= CORBA::Any::from_wchar(0x20ac); show("wchar", a, big);
    a <<= Golden::sell; show("side", a, big);
    Golden::Tree tree;
    tree.label = "root"; tree.children.length(1); tree.children[0].label = "leaf";
    a <<= tree; show("tree", a, big);
    Golden::Event event; event.text("none"); event._d(Golden::sell);
    a <<= event; show("event", a, big);
    Golden::Letter letter; letter.small(5); letter._d('b');
    a <<= letter; show("letter", a, big);
    Golden::Money money("-1234567.89");
    a <<= CORBA::Any::from_fixed(money, 9, 2); show("fixed", a, big);
    Golden::Grid grid = {{1, 2, 3}, {4, 5, 6}};
    a <<= Golden::Grid_forany(grid); show("grid", a, big);
    Golden::Octets octets; octets.length(3); octets[0] = 7; octets[1] = 8; octets[2] = 9;
    a <<= octets; show("octets", a, big);
    Golden::Rejected rejected("closed", 42);
    a <<= rejected; show("rejected", a, big);
    a <<= mixed(); show("mixed", a, big);
    Golden::Pair pair; pair.one = mixed(); pair.two = mixed(); pair.inner <<= (CORBA::Short)9;
    a <<= pair; show("pair", a, big);
    a <<= Golden::Target::_nil(); show("nil", a, big);
    a <<= Golden::_tc_Tree; show("type_code", a, big);
    show("null", CORBA::Any(), big);
    show("void", CORBA::Any(CORBA::_tc_void, (void*)0), big);
    a <<= CORBA::Any::from_boolean(true); show("boolean", a, big);
    a <<= CORBA::Any::from_octet(200); show("octet", a, big);
    a <<= CORBA::Any::from_char('\xe9'); show("char", a, big);
    a <<= (CORBA::Short)-2; show("short", a, big);
    a <<= (CORBA::UShort)65534; show("ushort", a, big);
    a <<= (CORBA::ULong)4294967294u; show("ulong", a, big);
    a <<= (CORBA::LongLong)-2; show("longlong", a, big);
    a <<= (CORBA::ULongLong)18446744073709551614ull; show("ulonglong", a, big);
    a <<= (CORBA::Float)-0.25; show("float", a, big);
    a <<= (CORBA::Double)1e300; show("double", a, big);
    a <<= CORBA::Any::from_string("12345678", 8); show("bounded_string", a, big);
    CORBA::WChar wide[] = {'1', '2', '3', '4', 0x20ac, 0};
    a <<= CORBA::Any::from_wstring(wide, 5); show("bounded_wstring", a, big);
    Golden::Few few; few.length(3); few[0] = 1; few[1] = 2; few[2] = 3;
    a <<= few; show("few", a, big);
    Golden::Anys anys; anys.length(2); anys[0] <<= "one"; anys[1] <<= (CORBA::Double)2;
    a <<= anys; show("anys", a, big);
    Golden::Flags flags; flags.length(3); flags[0] = true; flags[1] = false; flags[2] = true;
    a <<= flags; show("flags", a, big);
    Golden::Doubles doubles; doubles.length(2); doubles[0] = 0.5; doubles[1] = -0.5;
    a <<= doubles; show("doubles", a, big);
    Golden::Sides sides = {Golden::sell, Golden::buy};
    a <<= Golden::Sides_forany(sides); show("sides", a, big);
    Golden::Flag flag; flag.yes(9); a <<= flag; show("flag", a, big);
    flag._default(); a <<= flag; show("no_flag", a, big);
    Golden::Big b; b.low("deep"); a <<= b; show("big", a, big);
    b.rest(3); b._d(0); a <<= b; show("big_default", a, big);
    Golden::Small small; small.list(few); a <<= small; show("small", a, big);
    Golden::Wide w; w.one(0.125); a <<= w; show("wide", a, big);
    a <<= Golden::Nothing(); show("nothing", a, big);
    Golden::Node node, child;
    child.value = 2; child.twig.name = "leaf";
    node.value = 1; node.twig.name = "root"; node.twig.right.length(1);
    node.twig.right[0] = child;
    a <<= node; show("node", a, big);
    Golden::Empties empties; empties.text = ""; a <<= empties; show("empties", a, big);
    Golden::Targets targets; a <<= targets; show("targets", a, big);
    a <<= Golden::_tc_Ab; show("tc_abstract", a, big);
    a <<= Golden::_tc_Lo; show("tc_local", a, big);
    CORBA::TypeCode_var tc;
    tc = orb->create_value_box_tc("IDL:Golden/Bo:1.0", "Bo", CORBA::_tc_string); a <<= tc;
    show("tc_box", a, big);
    CORBA::ValueMemberSeq members; members.length(2);
    members[0].name = "a"; members[0].type = CORBA::_tc_long;
    members[0].access = CORBA::PUBLIC_MEMBER;
    members[1].name = "b"; members[1].type = CORBA::_tc_string;
    members[1].access = CORBA::PRIVATE_MEMBER;
    CORBA::TypeCode_var base = orb->create_value_tc("IDL:Golden/Base:1.0", "Base",
      CORBA::VM_NONE, CORBA::_tc_null, members);
    a <<= base; show("tc_value", a, big);
    members.length(1); members[0].name = "again"; 
    CORBA::TypeCode_var self = orb->create_recursive_tc("IDL:Golden/Derived:1.0");
    members[0].type = self;
    tc = orb->create_value_tc("IDL:Golden/Derived:1.0", "Derived", CORBA::VM_TRUNCATABLE, base,
      members);
    a <<= tc; show("tc_derived", a, big);
    a <<= Golden::_tc_Node; show("tc_node", a, big);
    a <<= CORBA::_tc_Object; show("tc_object", a, big);
  }
  return 0;
}
