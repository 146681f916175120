import CProcess
import ConcurrencySupport
import Glibc
import NNG
import TestSupport
import Testing

@Suite(
    "What nng asks of the C library",
    .disabled(if: Sanitizer.isOn, "a sanitizer asks before its own beginning"),
    .timeLimit(minutes: 1)
)
struct AnswersTests {
    /// What libraries of the process call, which isn't in Swift's module of the C library.
    private static func function<Function>(_ name: String, as type: Function.Type) throws -> Function {
        unsafeBitCast(try #require(dlsym(nil, name)), to: type)
    }

    /// A poller that watches a socket without a connection for nothing, as nng's does before it connects it; see epoll(7).
    private final class Poller {
        private static let (add, modify, oneShot): (Int32, Int32, UInt32) = (1, 3, 1 << 30)

        private let poller: Int32
        private let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)

        init() throws {
            poller = try AnswersTests.function("epoll_create1", as: (@convention(c) (Int32) -> Int32).self)(0)
            try watch(0, by: Self.add)
        }

        deinit {
            close(socket)
            close(poller)
        }

        func watchOnce() throws { try watch(Self.oneShot, by: Self.modify) }

        /// The numbers of events in three calls, one after the other.
        func reports() throws -> [Int32] {
            typealias Wait = @convention(c) (Int32, UnsafeMutableRawPointer, Int32, Int32) -> Int32
            let wait = try AnswersTests.function("epoll_wait", as: Wait.self)
            var event = InlineArray<4, UInt32>(repeating: 0)
            return (0..<3).map { _ in wait(poller, &event, 1, 0) }
        }

        private func watch(_ events: UInt32, by operation: Int32) throws {
            typealias Control = @convention(c) (Int32, Int32, Int32, UnsafeMutableRawPointer) -> Int32
            // As large as an event on any machine; the events come first.
            var event: InlineArray<4, UInt32> = [events, 0, 0, 0]
            #expect(try AnswersTests.function("epoll_ctl", as: Control.self)(poller, operation, socket, &event) == 0)
        }
    }

    @Test("A socket that isn't connected yet wakes a poller once while it's dialled, and as often as it's watched for something")
    func dial() throws {
        try #require(Poller().reports() == [1, 1, 1], "the kernel has changed")
        let poller = try {
            coordinator_process_answer_dial(1)
            defer { coordinator_process_answer_dial(0) }
            return try Poller()
        }()
        #expect(try poller.reports() == [1, 0, 0])
        for _ in 0..<2 {
            try poller.watchOnce()
            #expect(try poller.reports() == [1, 0, 0])
        }
        #expect(try Poller().reports() == [1, 1, 1], "another one is answered too")
    }

    @Test("The socket of a stream that is dialled is watched once")
    func stream() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("socket")
        // Not nng's, whose poller would watch sockets of its own.
        let listener = try RawSocket(listeningAt: path)
        defer { listener.close() }
        let stream = try await ByteStream.dial("ipc://\(path)", timeout: .seconds(50))
        defer { stream.close() }
        let socket = try #require(TemporaryDirectory.socket(connectedTo: path))
        // Lines such as "tfd:        8 events:       18 data: …".
        let directoryOfWatches = "/proc/self/fdinfo"
        let text = Files.names(in: directoryOfWatches).compactMap { Files.text(of: "\(directoryOfWatches)/\($0)") }.joined()
        let watches = text.split(separator: "\n").map { $0.split(separator: " ") }
        let words = try #require(watches.first { $0.starts(with: ["tfd:", "\(socket)"]) })
        let events = try #require(UInt32(words[3], radix: 16))
        let (oneShot, alwaysReported): (UInt32, UInt32) = (1 << 30, 0x18)
        #expect(events & oneShot != 0)
        #expect(events & ~(oneShot | alwaysReported) == 0, "it's watched for something: \(words)")
    }

    @Test("Threads are named from outside, except while nng is used for the first time")
    func names() throws {
        let gate = ThreadGate()
        let other = Lock<pthread_t?>(nil)
        try #require(
            DetachedThread.run {
                other.withLock { $0 = pthread_self() }
                gate.pass()
            }
        )
        defer { gate.open() }
        while !gate.isAwaited { sched_yield() }
        let thread = try #require(other.withLock { $0 })
        let setName = try Self.function("pthread_setname_np", as: (@convention(c) (pthread_t, UnsafePointer<CChar>) -> Int32).self)
        #expect(setName(thread, "outside") == 0)
        #expect(try Self.name(of: thread) == "outside")
        let own = try Self.name(of: pthread_self())
        coordinator_process_answer_first_use(1)
        #expect(setName(thread, "not now") == 0)
        #expect(sysconf(Int32(_SC_NPROCESSORS_ONLN)) == 1)
        let begun = Lock<String?>(nil)
        let isBegun = DetachedThread.run(waitingFor: .seconds(50)) {
            let name = try? Self.name(of: pthread_self())
            begun.withLock { $0 = name }
        }
        coordinator_process_answer_first_use(0)
        #expect(isBegun == true && begun.withLock { $0 } == "nng:poll:epoll")
        #expect(setName(pthread_self(), "fifteen letters.") == ERANGE)
        #expect(try Self.name(of: thread) == "outside")
        #expect(try Self.name(of: pthread_self()) == own)
    }

    private static func name(of thread: pthread_t) throws -> String {
        typealias GetName = @convention(c) (pthread_t, UnsafeMutablePointer<CChar>, Int) -> Int32
        let getName = try Self.function("pthread_getname_np", as: GetName.self)
        var name = [CChar](repeating: 0, count: 16)
        #expect(getName(thread, &name, name.count) == 0)
        return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
