//! Makes every call of `calls.rs` to servants that answer later, by AMH and as `async fn`.
//!
//! Compiled and run by `tests/behaviour.rs`. The servants give each call to the ordinary servant, on
//! another thread than that of the upcall.

#[allow(dead_code)]
#[path = "parts/calls.rs"]
mod ordinary;
#[path = "parts/responses.rs"]
mod responses;

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use asynchronous::own_calls::calls;
use calls::amh_described::DescribeResponse;
use calls::amh_ways as responses_of;
use calls::ways::{FillError, LevelError, SetLevelError};
use calls::{DescribedServant as _, WaysServant as _};
use corbie::codegen::{Any, Object, WChar};
use corbie::{Abstract, Executor, Orb, Task, TypedResponse, minor};
use ordinary::{Answer, Servant, all_calls};

type Job = Box<dyn FnOnce() + Send>;

/// Answers on a thread of its own, which is surely not that of the upcall.
struct Later {
    servant: Arc<Servant>,
    jobs: Sender<Job>,
}

impl Later {
    fn new(servant: Servant) -> Self {
        let (jobs, taken) = channel::<Job>();
        std::thread::spawn(move || taken.into_iter().for_each(|job| job()));
        Later { servant: Arc::new(servant), jobs }
    }

    /// Gives the response what the ordinary servant returns, later.
    fn finish<R: TypedResponse>(
        &self,
        response: R,
        call: impl FnOnce(&Servant) -> R::Outcome + Send + 'static,
    ) {
        let servant = Arc::clone(&self.servant);
        let job = move || response.finish(call(&servant)).expect("the client is there");
        self.jobs.send(Box::new(job)).expect("the thread is there");
    }
}

impl calls::AmhDescribedServant for Later {
    fn describe(&self, response: DescribeResponse) {
        self.finish(response, |servant| servant.describe());
    }
}

impl calls::AmhWaysServant for Later {
    fn mixed(&self, response: responses_of::MixedResponse, b: i32, c: i32, e: &str) {
        let e = e.to_owned();
        self.finish(response, move |servant| servant.mixed(b, c, &e));
    }

    fn reversed(&self, response: responses_of::ReversedResponse, data: &[u8]) {
        let data = data.to_vec();
        self.finish(response, move |servant| servant.reversed(&data));
    }

    fn locals(
        &self,
        response: responses_of::LocalsResponse,
        e: i32,
        d: i32,
        request: i32,
        servant: i32,
        reply: &str,
    ) {
        let reply = reply.to_owned();
        self.finish(response, move |all| all.locals(e, d, request, servant, &reply));
    }

    fn tell(&self, what: &str) -> Answer<()> {
        self.servant.tell(what)
    }

    fn with_context(
        &self,
        response: responses_of::WithContextResponse,
        name: &str,
        context: &[(String, String)],
    ) {
        let (name, context) = (name.to_owned(), context.to_vec());
        self.finish(response, move |servant| servant.with_context(&name, &context));
    }

    fn sort(&self, response: responses_of::SortResponse, values: &[i32]) {
        // At once, with the method that the IDL names.
        let sorted = self.servant.sort(values).expect("sorted");
        response.sort(&sorted).expect("the client is there");
    }

    fn transpose_sign(&self, response: responses_of::TransposeSignResponse, m: &calls::Matrix) {
        let m = *m;
        self.finish(response, move |servant| servant.transpose_sign(&m));
    }

    fn invert(&self, response: responses_of::InvertResponse, h: &calls::Huge) {
        let h = h.clone();
        self.finish(response, move |servant| servant.invert(&h));
    }

    fn fill(&self, response: responses_of::FillResponse, o: &calls::Order, c: &calls::Choice) {
        let sent = match self.servant.fill(o, c) {
            Ok((order, choice)) => response.fill(&order, &choice),
            Err(FillError::Refused(refused)) => response.fill_excep(refused),
            Err(FillError::System(exception)) => response.fill_excep(exception),
        };
        sent.expect("the client is there");
    }

    fn widen(&self, response: responses_of::WidenResponse, narrow_text: &str, c: WChar) {
        let text = narrow_text.to_owned();
        self.finish(response, move |servant| servant.widen(&text, c));
    }

    fn repeat(&self, response: responses_of::RepeatResponse, value: &Any) {
        let value = value.clone();
        self.finish(response, move |servant| servant.repeat(&value));
    }

    fn me(
        &self,
        response: responses_of::MeResponse,
        other: Option<&calls::Ways>,
        any_object: Option<&Object>,
    ) {
        let (other, any_object) = (other.cloned(), any_object.cloned());
        self.finish(response, move |servant| servant.me(other.as_ref(), any_object.as_ref()));
    }

    fn pass_on(&self, response: responses_of::PassOnResponse, d: Option<&Abstract<calls::Described>>) {
        response.pass_on(d).expect("the client is there");
    }

    fn level(&self, response: responses_of::LevelResponse) {
        self.finish(response, |servant| servant.level());
    }

    fn set_level(&self, response: responses_of::SetLevelResponse, value: i32) {
        self.finish(response, move |servant| servant.set_level(value));
    }

    fn title(&self, response: responses_of::TitleResponse) {
        response.title("title").expect("the client is there");
    }

    fn set_title(&self, response: responses_of::SetTitleResponse, value: &str) {
        let value = value.to_owned();
        self.finish(response, move |servant| servant.set_title(&value));
    }

    fn half(&self, response: responses_of::HalfResponse, amount: calls::Money) {
        self.finish(response, move |servant| servant.half(amount));
    }
}

/// The same as `async fn`; every call waits once before it answers.
struct Futures(Servant);

/// Pending at the first poll.
async fn not_at_once() {
    let mut waited = false;
    std::future::poll_fn(move |cx| {
        if std::mem::replace(&mut waited, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

impl calls::AsyncDescribedServant for Futures {
    async fn describe(&self) -> Answer<String> {
        not_at_once().await;
        self.0.describe()
    }
}

impl calls::AsyncWaysServant for Futures {
    async fn mixed(&self, b: i32, c: i32, e: &str) -> Answer<(i32, i32, String, i32, String)> {
        not_at_once().await;
        self.0.mixed(b, c, e)
    }

    async fn reversed(&self, data: &[u8]) -> Answer<(Vec<u8>, u32)> {
        not_at_once().await;
        self.0.reversed(data)
    }

    async fn locals(
        &self,
        e: i32,
        d: i32,
        request: i32,
        servant: i32,
        reply: &str,
    ) -> Answer<(String, i32, i32)> {
        not_at_once().await;
        self.0.locals(e, d, request, servant, reply)
    }

    async fn tell(&self, what: &str) -> Answer<()> {
        not_at_once().await;
        self.0.tell(what)
    }

    async fn with_context(&self, name: &str, context: &[(String, String)]) -> Answer<String> {
        not_at_once().await;
        self.0.with_context(name, context)
    }

    async fn sort(&self, values: &[i32]) -> Answer<Vec<i32>> {
        not_at_once().await;
        self.0.sort(values)
    }

    async fn transpose_sign(&self, m: &calls::Matrix) -> Answer<calls::Matrix> {
        self.0.transpose_sign(m)
    }

    async fn invert(&self, h: &calls::Huge) -> Answer<calls::Huge> {
        not_at_once().await;
        self.0.invert(h)
    }

    async fn fill(
        &self,
        o: &calls::Order,
        c: &calls::Choice,
    ) -> Result<(calls::Order, calls::Choice), FillError> {
        not_at_once().await;
        self.0.fill(o, c)
    }

    async fn widen(&self, narrow_text: &str, c: WChar) -> Answer<String> {
        self.0.widen(narrow_text, c)
    }

    async fn repeat(&self, value: &Any) -> Answer<Any> {
        not_at_once().await;
        self.0.repeat(value)
    }

    async fn me(
        &self,
        other: Option<&calls::Ways>,
        any_object: Option<&Object>,
    ) -> Answer<Option<calls::Ways>> {
        not_at_once().await;
        self.0.me(other, any_object)
    }

    async fn pass_on(&self, d: Option<&Abstract<calls::Described>>) -> Answer<Option<Abstract<calls::Described>>> {
        not_at_once().await;
        self.0.pass_on(d)
    }

    async fn level(&self) -> Result<i32, LevelError> {
        not_at_once().await;
        self.0.level()
    }

    async fn set_level(&self, value: i32) -> Result<(), SetLevelError> {
        not_at_once().await;
        self.0.set_level(value)
    }

    async fn title(&self) -> Answer<String> {
        self.0.title()
    }

    async fn set_title(&self, value: &str) -> Answer<()> {
        not_at_once().await;
        self.0.set_title(value)
    }

    async fn half(&self, amount: calls::Money) -> Answer<calls::Money> {
        not_at_once().await;
        self.0.half(amount)
    }
}

/// The smallest executor: a thread a future.
struct Threads;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on(task: Pin<&mut dyn Future<Output = ()>>) {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut task = task;
    while task.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
        std::thread::park();
    }
}

impl Executor for Threads {
    fn spawn(&self, task: Task) {
        std::thread::spawn(move || block_on(pin!(task)));
    }
}

/// How a server may find its threads; the last two need one that runs the loop.
const CONCURRENCY: [&str; 5] =
    ["thread-per-connection", "thread-pool", "thread-per-request", "reactive", "reactor-per-thread"];

fn main() {
    for concurrency in CONCURRENCY {
        let arguments =
            ["-ORBListenEndpoints", "iiop://127.0.0.1:0", "-ORBServerConcurrency", concurrency];
        let orb = Orb::init(arguments).expect(concurrency);
        let running = orb.clone();
        let running = std::thread::spawn(move || running.run());
        serve(&orb);
        orb.shutdown(true);
        running.join().expect(concurrency);
    }
    println!("all well");
}

/// One object adapter serves all three kinds of servants.
fn serve(orb: &Orb) {
    let poa = orb.root_poa().expect("the root POA");
    poa.the_poa_manager().activate().expect("an active manager");
    let (servant, hear) = Servant::new();
    let ways = poa.activate(calls::WaysSkeleton::new(servant)).expect("active");
    all_calls(&ways, &hear);
    let (servant, hear) = Servant::new();
    let later = poa.activate(calls::AmhWaysSkeleton::new(Later::new(servant))).expect("active");
    all_calls(&later, &hear);
    let (servant, hear) = Servant::new();
    let skeleton = calls::AsyncWaysSkeleton::new(Futures(servant));
    let futures = poa.activate(skeleton).expect("active");
    let refused = futures.title().expect_err("there is no executor");
    assert_eq!(refused.minor, minor::BAD_INV_ORDER_NO_EXECUTOR);
    orb.set_executor(Arc::new(Threads));
    all_calls(&futures, &hear);
    responses::check(orb);
}
