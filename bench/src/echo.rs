//! Stub and skeleton of `idl/bench.idl`, by hand until the generator makes them: to be removed.

use corbie::codegen::{Marshal, Operation};
use corbie::{Interface, Object, Servant, ServerRequest, SystemException, TypedServant};

/// A reference to a `Bench::Echoer`.
#[derive(Clone, Debug)]
pub(crate) struct Echoer(Object);

impl Interface for Echoer {
    const REPOSITORY_ID: &'static str = "IDL:Bench/Echoer:1.0";
    const BASES: &'static [&'static str] = &[];
    fn from_object(object: Object) -> Self {
        Echoer(object)
    }
    fn as_object(&self) -> &Object {
        &self.0
    }
    fn into_object(self) -> Object {
        self.0
    }
}

impl Echoer {
    pub(crate) fn echo(&self, v: i64) -> Result<i64, SystemException> {
        static OPERATION: Operation = Operation::twoway("echo");
        let mut reply = self.0.invoke(&OPERATION, &|e| i64::encode(&v, e))?;
        reply.results_only(i64::decode)
    }

    pub(crate) fn send(&self, v: i64) -> Result<(), SystemException> {
        static OPERATION: Operation = Operation::oneway("send");
        self.0.invoke_oneway(&OPERATION, &|e| i64::encode(&v, e))
    }

    pub(crate) fn received(&self) -> Result<u64, SystemException> {
        static OPERATION: Operation = Operation::twoway("received");
        let mut reply = self.0.invoke(&OPERATION, &|_| Ok(()))?;
        reply.results_only(u64::decode)
    }

    pub(crate) fn echo_octets(&self, data: &[u8]) -> Result<Vec<u8>, SystemException> {
        static OPERATION: Operation = Operation::twoway("echo_octets");
        let mut reply = self.0.invoke(&OPERATION, &|e| e.write_octet_sequence(data))?;
        reply.results_only(|d| Ok(d.read_octet_sequence()?.to_vec()))
    }
}

/// What a servant implements.
pub(crate) trait EchoerServant: Send + Sync + 'static {
    fn echo(&self, v: i64) -> Result<i64, SystemException>;
    fn send(&self, v: i64) -> Result<(), SystemException>;
    fn received(&self) -> Result<u64, SystemException>;
    fn echo_octets(&self, data: &[u8]) -> Result<Vec<u8>, SystemException>;
}

/// Decodes requests and calls the servant.
pub(crate) struct EchoerSkeleton<S>(S);

impl<S: EchoerServant> EchoerSkeleton<S> {
    pub(crate) fn new(servant: S) -> Self {
        EchoerSkeleton(servant)
    }
}

impl<S: EchoerServant> Servant for EchoerSkeleton<S> {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Bench/Echoer:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        let mut d = request.arguments();
        match request.operation() {
            "echo" => {
                let result = self.0.echo(i64::decode(&mut d)?)?;
                request.reply(&|e| i64::encode(&result, e))
            }
            "send" => self.0.send(i64::decode(&mut d)?),
            "received" => {
                let result = self.0.received()?;
                request.reply(&|e| u64::encode(&result, e))
            }
            "echo_octets" => {
                let result = self.0.echo_octets(d.read_octet_sequence()?)?;
                request.reply(&|e| e.write_octet_sequence(&result))
            }
            _ => Err(request.unknown_operation()),
        }
    }
}

impl<S: EchoerServant> TypedServant for EchoerSkeleton<S> {
    type Reference = Echoer;
}
