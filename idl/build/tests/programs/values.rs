//! Sends values to and fro: null, shared, in cycles, truncated, boxed, custom, as abstract
//! interfaces, in sequences, unions and exceptions.
//!
//! Compiled and run by `tests/behaviour.rs`; every call goes over IIOP.

use std::sync::{Arc, Weak};

use behaviour::own_values::values;
use corbie::{
    Abstract, CustomMarshal, Decoder, Encoder, Marshal, Object, Orb, SystemException,
    SystemExceptionKind, ValueBase, minor, view,
};
use values::echo::EchoTreeError;
use values::{
    Choice, DescribedServant, EchoServant, Leaf, LeafState, LeafValue, Longs, SecretOperations,
    SecretState, SecretValue, SignOperations, SignState, SignValue, Text, ThingServant, Tree,
    TreeState, TreeValue,
};

type Answer<T> = Result<T, SystemException>;
type ATree = Option<Arc<dyn Tree>>;

struct Echo;

impl EchoServant for Echo {
    fn echo_tree(
        &self,
        a: Option<&Arc<dyn Tree>>,
        b: Option<&Arc<dyn Tree>>,
    ) -> Result<(ATree, bool), EchoTreeError> {
        if a.is_some_and(|a| a.tree_state().label == "bad") {
            return Err(values::Refused { culprit: a.cloned() }.into());
        }
        Ok((a.cloned(), a.is_some() && a == b))
    }

    fn echo_text(
        &self,
        a: Option<&Arc<Text>>,
        b: Option<&Arc<Longs>>,
    ) -> Answer<(Option<Arc<Text>>, Option<Arc<Longs>>)> {
        Ok((a.cloned(), b.map(|b| Arc::new(Longs(b.0.iter().rev().copied().collect())))))
    }

    fn echo_described(
        &self,
        a: Option<&Abstract<values::Described>>,
    ) -> Answer<Option<Abstract<values::Described>>> {
        Ok(a.cloned())
    }

    fn echo_secret(
        &self,
        a: Option<&Arc<dyn values::Secret>>,
    ) -> Answer<Option<Arc<dyn values::Secret>>> {
        Ok(a.cloned())
    }

    fn echo_value(&self, a: Option<&Arc<dyn ValueBase>>) -> Answer<Option<Arc<dyn ValueBase>>> {
        Ok(a.cloned())
    }

    fn echo_forest(&self, a: &[ATree], b: &Choice) -> Answer<(Vec<ATree>, Choice)> {
        Ok((a.to_vec(), b.clone()))
    }

    fn echo_anything(
        &self,
        a: &corbie::Any,
        b: Option<&Arc<dyn Tree>>,
    ) -> Answer<(corbie::Any, ATree)> {
        Ok((a.clone(), b.cloned()))
    }
}

/// An object, and a value, that can be described.
struct Thing;

impl DescribedServant for Thing {
    fn describe(&self) -> Answer<String> {
        Ok("an object".to_owned())
    }
}

impl ThingServant for Thing {}

struct Painted;

impl SignOperations for Painted {
    fn describe(&self, this: &dyn values::Sign) -> Answer<String> {
        Ok(format!("a sign: {}", this.sign_state().text))
    }
}

/// Hides its number by what it writes.
struct Hiding;

impl CustomMarshal<SecretState> for Hiding {
    fn marshal(&self, state: &SecretState, os: &mut Encoder<'_>) -> Result<(), corbie::cdr::Error> {
        os.write_octet(1);
        os.write_long(!state.hidden);
        Ok(())
    }

    fn unmarshal(&self, is: &mut Decoder<'_>) -> Result<SecretState, corbie::cdr::Error> {
        match is.read_octet()? {
            1 => Ok(SecretState { hidden: !is.read_long()? }),
            other => Err(is.invalid("secret", format!("version {other}"), "version 1")),
        }
    }
}

impl SecretOperations for Hiding {}

fn tree(label: &str) -> Arc<dyn Tree> {
    TreeValue::new(TreeState { label: label.to_owned(), ..TreeState::default() })
}

fn leaf(label: &str, size: i64) -> Arc<dyn Leaf> {
    let base = TreeState { label: label.to_owned(), ..TreeState::default() };
    LeafValue::new(LeafState { base, size, marks: Some(Arc::new(Longs(vec![1, 2, 3]))) })
}

fn main() {
    let endpoint = ["-ORBListenEndpoints", "iiop://127.0.0.1:0", "-ORBCollocation", "none"];
    let orb = Orb::init(endpoint.into_iter().chain(["-ORBValueCycles"])).expect("an ORB");
    let poa = orb.root_poa().expect("the root POA");
    poa.the_poa_manager().activate().expect("active");
    let echo = poa.activate(values::EchoSkeleton::new(Echo)).expect("a reference");
    null_and_identity(&echo);
    cycles(&echo);
    derived_values(&orb, &echo);
    boxes(&echo);
    custom_values(&orb, &echo);
    let thing = poa.activate(values::ThingSkeleton::new(Thing)).expect("a reference");
    abstract_interfaces(&orb, &echo, &thing);
    containers(&echo);
    in_anys(&echo);
    octets_of_omniorb();
    hostile();
    orb.shutdown(true);
    println!("all well");
}

fn null_and_identity(echo: &values::Echo) {
    assert_eq!(echo.echo_tree(None, None), Ok((None, false)));
    let (one, other) = (tree("one"), tree("one"));
    let (back, same) = echo.echo_tree(Some(&one), Some(&one)).expect("answered");
    assert!(same, "one value is one value there");
    assert_eq!(back.expect("a value").tree_state().label, "one");
    let (_, same) = echo.echo_tree(Some(&one), Some(&other)).expect("answered");
    assert!(!same, "two are two");
    // In an exception.
    match echo.echo_tree(Some(&tree("bad")), None) {
        Err(EchoTreeError::Refused(refused)) => {
            assert_eq!(refused.culprit.expect("a value").tree_state().label, "bad");
        }
        other => panic!("{other:?}"),
    }
}

fn cycles(echo: &values::Echo) {
    let root = tree("root");
    let child = tree("child");
    child.update_tree_state(&mut |state| state.parent = Some(Arc::clone(&root)));
    root.update_tree_state(&mut |state| state.children = vec![Some(child.clone()), None]);
    let (back, _) = echo.echo_tree(Some(&root), None).expect("answered");
    let back = back.expect("a value");
    let children = back.tree_state().children.clone();
    let parent = children[0].as_ref().expect("a child").tree_state().parent.clone();
    assert_eq!(parent.as_ref(), Some(&back), "the cycle is closed");
    assert_eq!(children[1], None);
    drop((parent, children));
    // Broken, it is dropped.
    for root in [root, back] {
        let watched: Weak<dyn Tree> = Arc::downgrade(&root);
        root.update_tree_state(&mut |state| state.children.clear());
        drop(root);
        let held = watched.upgrade().is_some();
        // The child of the first one is still held here.
        assert_eq!(held, watched.upgrade().is_some_and(|root| child.tree_state().parent == Some(root)));
    }
    let last = child.tree_state().parent.clone().map(|root| Arc::downgrade(&root));
    child.update_tree_state(&mut |state| state.parent = None);
    assert!(last.expect("the root").upgrade().is_none(), "nothing leaks");
}

fn derived_values(orb: &Orb, echo: &values::Echo) {
    // Values of a derived type are what they are, where the type is known.
    let one = leaf("leaf", 7);
    let as_tree: Arc<dyn Tree> = one.clone();
    let (back, _) = echo.echo_tree(Some(&as_tree), None).expect("answered");
    let back: Arc<dyn Leaf> = view(back.expect("a value")).expect("a leaf");
    assert_eq!((back.leaf_state().size, back.tree_state().label.as_str()), (7, "leaf"));
    assert_eq!(back.leaf_state().marks.as_ref().map(|marks| marks.0.clone()), Some(vec![1, 2, 3]));
    // Where it is not, they are cut down to the base, and what comes after them is still right.
    let leaves = vec![Some(as_tree.clone()), Some(tree("after")), Some(as_tree)];
    let mut e = Encoder::native();
    corbie::idl::Sequence::<values::TreeIdl>::encode(&leaves, &mut e).expect("written");
    let octets = e.to_vec();
    let mut d = Decoder::new(&octets, corbie::ByteOrder::NATIVE);
    let only_tree: [fn() -> corbie::ValueFactory; 1] = [|| TreeValue::factory(|| ())];
    assert_eq!(d.read_ulong(), Ok(3));
    let mut read = || {
        let value = corbie::types::valuetype::read_value(&mut d, None, &only_tree).expect("read");
        view::<dyn Tree>(value.expect("not null")).expect("a tree")
    };
    let (first, second, third) = (read(), read(), read());
    assert_eq!(first.value_type().repository_id, "IDL:Values/Tree:1.0");
    assert_eq!(first.tree_state().label, "leaf");
    assert_eq!(second.tree_state().label, "after");
    assert!(Arc::ptr_eq(&first, &third), "shared all the same");
    assert_eq!(d.remaining(), 0);
    // `ValueBase` says no type: it has to be registered.
    let value: Arc<dyn ValueBase> = one;
    let error = echo.echo_value(Some(&value)).expect_err("no factory");
    assert_eq!((error.kind, error.minor), (SystemExceptionKind::Marshal, minor::MARSHAL_NO_VALUE_FACTORY));
    assert!(orb.register_value_factory(LeafValue::factory(|| ())).is_none());
    assert!(orb.register_value_factory(Longs::factory()).is_none());
    let back = echo.echo_value(Some(&value)).expect("answered").expect("a value");
    assert_eq!(view::<dyn Leaf>(back).expect("a leaf").leaf_state().size, 7);
    assert!(orb.unregister_value_factory("IDL:Values/Leaf:1.0").is_some());
    assert!(orb.lookup_value_factory("IDL:Values/Leaf:1.0").is_none());
}

fn boxes(echo: &values::Echo) {
    let text = Arc::new(Text("boxed".to_owned()));
    let longs = Arc::new(Longs((0..5000).collect()));
    let (back, turned) = echo.echo_text(Some(&text), Some(&longs)).expect("answered");
    assert_eq!(back, Some(text));
    assert_eq!(turned.expect("a box").0.first(), Some(&4999));
    assert_eq!(echo.echo_text(None, None), Ok((None, None)));
}

fn custom_values(orb: &Orb, echo: &values::Echo) {
    let secret: Arc<dyn values::Secret> = SecretValue::with(Hiding, SecretState { hidden: 42 });
    let refused = echo.echo_secret(Some(&secret)).expect_err("no factory");
    assert_eq!(refused.minor, minor::MARSHAL_NO_VALUE_FACTORY);
    orb.register_value_factory(SecretValue::factory(|| Hiding));
    let back = echo.echo_secret(Some(&secret)).expect("answered").expect("a value");
    assert_eq!(back.secret_state().hidden, 42);
}

fn abstract_interfaces(orb: &Orb, echo: &values::Echo, thing: &values::Thing) {
    assert_eq!(echo.echo_described(None), Ok(None));
    let object = Abstract::from(values::Described::from(thing.clone()));
    let back = echo.echo_described(Some(&object)).expect("answered").expect("not nil");
    assert!(matches!(back, Abstract::Object(_)));
    assert_eq!(back.describe(), Ok("an object".to_owned()));
    orb.register_value_factory(SignValue::factory(|| Painted));
    let sign = SignValue::with(Painted, SignState { text: "stop".to_owned() });
    let value = Abstract::Value(sign);
    let back = echo.echo_described(Some(&value)).expect("answered").expect("not null");
    assert!(matches!(back, Abstract::Value(_)));
    assert_eq!(back.describe(), Ok("a sign: stop".to_owned()));
    let other: Abstract<values::Described> = Abstract::Value(TreeValue::new(TreeState::default()));
    assert_eq!(other.describe().map_err(|e| e.kind), Err(SystemExceptionKind::BadParam));
    let _: Option<&Object> = back.as_object().map(values::Described::as_object);
}

fn containers(echo: &values::Echo) {
    let one = tree("one");
    let forest = vec![Some(one.clone()), None, Some(tree("two")), Some(one.clone())];
    let choice = Choice::ATree(Some(one));
    let (back, choice) = echo.echo_forest(&forest, &choice).expect("answered");
    assert_eq!(back[0], back[3]);
    assert_eq!(back[1], None);
    assert_ne!(back[0], back[2]);
    assert!(matches!(choice, Choice::ATree(tree) if tree == back[0]), "shared by parameters");
}

fn in_anys(echo: &values::Echo) {
    // A cycle, and the same value as the next parameter: one value in the servant and back here,
    // though no factory is registered, so that the any is read before its type is known.
    let (root, child) = (tree("root"), tree("child"));
    child.update_tree_state(&mut |state| state.parent = Some(Arc::clone(&root)));
    root.update_tree_state(&mut |state| state.children = vec![Some(child.clone())]);
    let any = corbie::Any::from_value::<values::TreeIdl>(&Some(root.clone())).expect("an any");
    assert_eq!(any.extract::<values::TreeIdl>(), Ok(Some(root.clone())), "itself, within a process");
    let (back, next) = echo.echo_anything(&any, Some(&child)).expect("answered");
    let held = back.held_value().expect("a value");
    let next = next.expect("a value");
    assert!(held.as_typed().is_some(), "the child, which is a parameter, leads to it");
    let back = back.extract::<values::TreeIdl>().expect("a tree").expect("not null");
    assert_eq!(back.tree_state().children[0].as_ref(), Some(&next));
    assert_eq!(next.tree_state().parent.as_ref(), Some(&back));
    // Alone: it becomes typed when it is asked for, with all that it leads to, and stays that.
    let (back, _) = echo.echo_anything(&any, None).expect("answered");
    assert!(back.held_value().expect("a value").as_dynamic().is_some());
    let [first, again] = [(); 2].map(|()| back.extract::<values::TreeIdl>().expect("a tree"));
    assert_eq!(first, again);
    let first = first.expect("not null");
    let found = first.tree_state().children[0].clone().expect("a child");
    assert_eq!(found.tree_state().parent.as_ref(), Some(&first));
    // A derived value as its base, and as itself; a box; null.
    let one = leaf("leaf", 7);
    let any = corbie::Any::from_value::<values::LeafIdl>(&Some(one)).expect("an any");
    let (back, _) = echo.echo_anything(&any, None).expect("answered");
    assert_eq!(back.type_code().id(), "IDL:Values/Leaf:1.0");
    let read = back.extract::<values::LeafIdl>().expect("a leaf").expect("not null");
    assert_eq!(read.leaf_state().marks, Some(Arc::new(Longs(vec![1, 2, 3]))));
    assert!(back.extract::<values::TreeIdl>().expect("a tree").is_some());
    let text = Some(Arc::new(Text("boxed".to_owned())));
    let any = corbie::Any::from_value::<Text>(&text).expect("an any");
    let (back, _) = echo.echo_anything(&any, None).expect("answered");
    assert_eq!(back.extract::<Text>(), Ok(text));
    assert!(back.extract::<values::TreeIdl>().is_err());
    let any = corbie::Any::from_value::<values::TreeIdl>(&None).expect("an any");
    let (back, _) = echo.echo_anything(&any, None).expect("answered");
    assert_eq!(back.extract::<values::TreeIdl>(), Ok(None));
    // A custom value needs its factory, which is registered.
    let secret: Arc<dyn values::Secret> = SecretValue::with(Hiding, SecretState { hidden: 42 });
    let any = corbie::Any::from_value::<values::SecretIdl>(&Some(secret)).expect("an any");
    let (back, _) = echo.echo_anything(&any, None).expect("answered");
    let read = back.extract::<values::SecretIdl>().expect("a secret").expect("not null");
    assert_eq!(read.secret_state().hidden, 42);
    child.update_tree_state(&mut |state| state.parent = None);
}

/// Written by omniORB 4.3 (little-endian) with `Tree_Helper::marshal`: a root with a child that points
/// back, the root again, null.
const CYCLE: &str = "00ffff7f05000000726f6f7400000000000000000200000000ffff7f060000006368696c64000000 \
    ffffffffd4ffffff0000000000000000000000000300000001020300ffffffffb8ffffff00000000";

/// Likewise: a leaf with a parent and marks, the leaf again, its parent.
const LEAF: &str = "0effff7f020000001400000049444c3a56616c7565732f4c6561663a312e30001400000049444c3a \
    56616c7565732f547265653a312e30000c000000050000006c65616600ffffff0affff7fffffffff \
    d0ffffff1b00000005000000726f6f740000000000000000000000000300000001020300feffffff \
    1400000000000000000000000000000007000000000000000affff7f1500000049444c3a56616c75 \
    65732f4c6f6e67733a312e30000000000c000000020000000400000005000000ffffffffffffffff \
    38ffffffffffffff78ffffff";

/// What we write of both; omniORB 4.3 reads it as what it wrote.
const OURS: [&str; 2] = [
    "02ffff7f1400000049444c3a56616c7565732f547265653a312e300005000000726f6f7400000000 \
    000000000200000002ffff7fffffffffccffffff060000006368696c64000000ffffffffb4ffffff \
    0000000000000000000000000300000001020300ffffffff98ffffff00000000",
    "0effff7f020000001400000049444c3a56616c7565732f4c6561663a312e30001400000049444c3a \
    56616c7565732f547265653a312e300009000000050000006c656166000000000affff7fffffffff \
    d0ffffff1b00000005000000726f6f740000000000000000000000000300000001020300feffffff \
    1400000000000000000000000000000007000000000000000affff7f1500000049444c3a56616c75 \
    65732f4c6f6e67733a312e30000000000c000000020000000400000005000000ffffffffffffffff \
    38ffffffffffffff78ffffff",
];

fn octets_of(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|digit| digit.to_digit(16)).collect();
    let octet = |pair: &[u32]| u8::try_from(16 * pair[0] + pair[1]).expect("an octet");
    digits.chunks_exact(2).map(octet).collect()
}

/// Three trees of a message.
fn three(octets: &[u8]) -> [ATree; 3] {
    let mut d = Decoder::new(octets, corbie::ByteOrder::LittleEndian);
    let limits = corbie::cdr::Limits { value_cycles: true, ..corbie::cdr::Limits::DEFAULT };
    d.set_limits(&limits);
    let trees = [(); 3].map(|()| values::TreeIdl::decode(&mut d).expect("a tree"));
    assert_eq!(d.remaining(), 0);
    trees
}

fn octets_of_omniorb() {
    let is_cycle = |trees: [ATree; 3]| {
        let [root, again, null] = trees;
        assert_eq!(root, again);
        assert_eq!(null, None);
        let root = root.expect("a root");
        let child = root.tree_state().children[0].clone().expect("a child");
        assert_eq!((&*root.tree_state().label, &*child.tree_state().label), ("root", "child"));
        assert_eq!(child.tree_state().parent.as_ref(), Some(&root));
        [Some(root.clone()), Some(root), None]
    };
    let is_leaf = |trees: [ATree; 3]| {
        let [leaf, again, root] = trees;
        assert_eq!(leaf, again);
        let tree = leaf.clone().expect("a leaf");
        assert_eq!(tree.tree_state().parent, root);
        let view: Arc<dyn Leaf> = view(tree).expect("a leaf");
        assert_eq!((&*view.tree_state().label, view.leaf_state().size), ("leaf", 7));
        assert_eq!(view.leaf_state().marks, Some(Arc::new(Longs(vec![4, 5]))));
        [leaf, again, root]
    };
    let read = [is_cycle(three(&octets_of(CYCLE))), is_leaf(three(&octets_of(LEAF)))];
    // What we write of them is read the same.
    let checks = [&is_cycle as &dyn Fn(_) -> _, &is_leaf];
    for ((trees, is_same), ours) in read.iter().zip(checks).zip(OURS) {
        let mut e = Encoder::new(Vec::new(), corbie::ByteOrder::LittleEndian);
        trees.iter().for_each(|tree| values::TreeIdl::encode(tree, &mut e).expect("written"));
        is_same(three(&e.to_vec()));
        assert_eq!(e.to_vec(), octets_of(ours));
    }
}

/// Octets that are no values are refused, and say where.
fn hostile() {
    let check = |words: &[u32], says: &str| {
        let octets: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        let mut d = Decoder::new(&octets, corbie::ByteOrder::BigEndian);
        let error = values::TreeIdl::decode(&mut d).expect_err(says);
        assert!(error.to_string().contains(says), "{error}");
    };
    check(&[0xffff_ffff, 0xffff_fffc], "found -4");
    check(&[0xffff_ffff, 8], "found 8");
    check(&[0xffff_ffff, 0xffff_0000], "found -65536");
    check(&[5], "value tag at octet 0");
    check(&[0x7fff_ff06, 0x7fff_ffff], "2147483647 repository ids");
    check(&[0x7fff_ff02, 0x00ff_ffff], "16777215 octets");
    check(&[0x7fff_ff08, 0x7fff_0000], "a chunk of 2147418112 octets");
    check(&[0x7fff_ff08, 0], "the size of a chunk");
}
