import Coordinators
import Glibc
import Synchronization

/// Restarts whatever it is told to, without ever giving up.
actor Root: Coordinator {
    /// The root's context, for the program around it.
    struct Handle: ResponderMessage {
        struct Reply: Codable, Sendable {
            func context() -> Root.Context { Root.context.withLock { $0 }.unsafelyUnwrapped }
        }
    }

    static let supervision = SupervisionPolicy(.oneForOne, intensity: 100_000_000, period: .seconds(1), backoff: .none)
    static let context = Mutex<Root.Context?>(nil)

    nonisolated let context: Context

    init(_ context: Context) {
        self.context = context
        Self.context.withLock { $0 = context }
    }

    static let responders: Responders = [.respond(to: Handle.self) { _, _ in Handle.Reply() }]
}

/// Lives in a worker, and says in which process.
actor Target: Coordinator {
    struct Who: ResponderMessage { typealias Reply = Int32 }

    nonisolated let context: Context
    init(_ context: Context) { self.context = context }
    static let responders: Responders = [.respond(to: Who.self) { _, _ in getpid() }]
}

/// The same, beside those that crash.
actor Neighbour: Coordinator {
    nonisolated let context: Context
    init(_ context: Context) { self.context = context }
    static let responders: Responders = [.respond(to: Target.Who.self) { _, _ in getpid() }]
}

/// Its process exits as soon as it's ready.
actor Crasher: Coordinator {
    nonisolated let context: Context
    init(_ context: Context) { self.context = context }
    func run() async throws { exit(1) }
}

/// Fails as soon as it's ready, until it has done so often enough.
actor Failing: Coordinator {
    struct Failure: Error {}

    nonisolated let context: Context
    init(_ context: Context) { self.context = context }

    func run() async throws {
        if Tally.shared.add() { throw Failure() }
        while !Task.isCancelled { try await Task.sleep(for: .seconds(60)) }
    }
}

final class Tally: Sendable {
    static let shared = Tally()

    private let lives = Atomic<Int>(0)
    private let most = Atomic<Int>(.max)

    var count: Int { lives.load(ordering: .relaxed) }
    var limit: Int {
        get { most.load(ordering: .relaxed) }
        set { most.store(newValue, ordering: .relaxed) }
    }

    /// - Returns: whether there are lives left.
    func add() -> Bool { lives.add(1, ordering: .relaxed).newValue < limit }
}

/// What this process has, as the kernel counts it.
struct Remains: CustomStringConvertible {
    let descriptors: Int
    let threads: Int
    let zombies: Int
    /// Files in the runtime directory.
    let sockets: Int
    let kilobytes: Int

    /// Where the sockets are; removed by whoever ends.
    static let directory: String = {
        var template = Array("/tmp/soak-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { return "/tmp" }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }()

    static func now() -> Remains {
        Remains(
            descriptors: entries("/proc/self/fd") - 1,
            threads: entries("/proc/self/task"),
            zombies: children().count { state(of: $0) == "Z" },
            sockets: entries(directory),
            kilobytes: residentKilobytes()
        )
    }

    var description: String {
        "\(descriptors) descriptors, \(threads) threads, \(zombies) zombies, \(sockets) socket files, \(kilobytes) KiB resident"
    }

    private static func entries(_ path: String) -> Int {
        guard let directory = opendir(path) else { return 0 }
        defer { closedir(directory) }
        var count = -2  // Itself and its parent.
        while readdir(directory) != nil { count += 1 }
        return count
    }

    private static func text(_ path: String) -> String {
        guard let file = fopen(path, "re") else { return "" }
        defer { fclose(file) }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        return String(decoding: buffer[..<fread(&buffer, 1, buffer.count, file)], as: UTF8.self)
    }

    private static func children() -> [String] {
        text("/proc/self/task/\(getpid())/children").split(separator: " ").map(String.init)
    }

    private static func state(of pid: String) -> String {
        text("/proc/\(pid)/stat").split(separator: ")").last?.split(separator: " ").first.map(String.init) ?? ""
    }

    private static func residentKilobytes() -> Int {
        let fields = text("/proc/self/statm").split(separator: " ")
        return fields.count > 1 ? (Int(fields[1]) ?? 0) * sysconf(Int32(_SC_PAGESIZE)) / 1_024 : 0
    }
}
