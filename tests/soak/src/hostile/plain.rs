//! How long the machine itself takes for a comparable exchange, without any server of ours: as many
//! messages to and fro between two threads as a round of honest clients makes, and a write that is
//! on the disk. The report has it beside the rounds: what both take longer is the machine's doing.

use corbie_testkit::servers::ScratchFolder;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

/// Messages to and fro.
const MESSAGES: usize = 10;

/// See the module.
pub(super) struct Plain {
    stream: TcpStream,
    file: File,
    _folder: ScratchFolder,
}

impl Plain {
    pub(super) fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let stream = TcpStream::connect(listener.local_addr()?)?;
        let (mut other, _) = listener.accept()?;
        stream.set_nodelay(true)?;
        other.set_nodelay(true)?;
        std::thread::spawn(move || {
            let mut octet = [0];
            while other.read_exact(&mut octet).and_then(|()| other.write_all(&octet)).is_ok() {}
        });
        let folder = ScratchFolder::new("plain");
        let file = File::create(folder.path().join("written"))?;
        Ok(Self { stream, file, _folder: folder })
    }

    pub(super) fn exchange(&mut self) -> std::io::Result<()> {
        let mut octet = [7];
        for _ in 0..MESSAGES {
            self.stream.write_all(&octet)?;
            self.stream.read_exact(&mut octet)?;
        }
        self.file.write_all(&[7; 100])?;
        self.file.sync_data()
    }
}
