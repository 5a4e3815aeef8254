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
  }
  return 0;
}
