import Coordinators
import TestSupport

enum Feeds {
    struct Refresh: ResponderMessage {
        typealias Reply = Int
        var source: String
    }

    struct Sweep: ResponderMessage {}
}

enum Ledger {
    struct Book: ResponderMessage { var amount: Int }

    struct Balance: ResponderMessage { typealias Reply = Int }
}

/// A connection that is kept alive.
struct FeedConnection: Sendable {
    func keepAlive() async throws { try await untilCancelled() }
}

/// A store that takes its time.
struct LedgerStore: Sendable {
    func append(_ amount: Int) async throws { await Task.yield() }
}

actor LedgerCoordinator: Coordinator {
    let context: Context
    private let store = LedgerStore()
    private var balance = 0

    init(_ context: Context) { self.context = context }

    // snippet: serial
    static let mailbox = MailboxPolicy(running: 1)

    static let responders: Responders = [
        .respond(to: Ledger.Book.self) { me, book in
            let balance = me.balance + book.amount
            try await me.store.append(book.amount)
            me.balance = balance
        },
        .respond(to: Ledger.Balance.self, interleaves: true) { me, _ in me.balance },
    ]
    // end
}

// snippet: shape
actor ImportCoordinator: Coordinator {
    struct Configuration: Codable, Sendable { var source: String }
    struct Output: Codable, Sendable { var rows: Int }

    let context: Context
    private var source: String
    private var isThrottled = false

    init(_ context: Context) {
        self.context = context
        source = context.configuration.source
    }

    func run() async throws {
        var rows = 0
        for row in source.split(separator: ",") where !row.isEmpty {
            if isThrottled { try await context.clock.sleep(for: .milliseconds(100)) }
            rows += 1
        }
        context.finish(Output(rows: rows))
    }

    func paused() async { isThrottled = true }
    func resumed() async { isThrottled = false }
}
// end

// snippet: reconfigure
func change(_ child: Child<ImportCoordinator>, to source: String) async throws {
    try await child.reconfigure { $0.source = source }
}
// end

extension ImportCoordinator {
    // snippet: reconfigured
    func reconfigured(from former: Configuration) async throws -> Reconfiguration {
        source = context.configuration.source
        return .taken
    }
    // end
}

actor FeedsCoordinator: Coordinator {
    let context: Context
    private var imports = 0

    init(_ context: Context) { self.context = context }

    // snippet: idle
    static let idleTimeout: Duration? = .seconds(300)
    // end
    // snippet: policies
    static let supervision = SupervisionPolicy(.oneForOne, intensity: 3, period: .seconds(30))
    static let mailbox = MailboxPolicy(waiting: 256, bytes: 1 << 20, whenFull: .fail)
    // end

    // snippet: run
    static let responders: Responders = [
        .respond(to: Feeds.Refresh.self) { me, refresh in
            me.imports += 1
            let key = "import \(me.imports)"
            let output = try await me.context.run(ImportCoordinator.self, as: key, with: .init(source: refresh.source))
            return output.rows
        },
        .respond(to: Feeds.Sweep.self) { me, _ in
            for child in me.context.children(in: .paused) {
                guard let key = child.key(as: String.self) else { continue }
                try await me.context.remove(key)
            }
        },
    ]
    // end

    // snippet: timers
    func start() async throws {
        context.every(.seconds(60)) { me in
            me.sweeps += 1
            try await me.context.send(Feeds.Sweep())
        }
        context.after(.seconds(5)) { me in me.isWarm = true }
        context.task(onError: .fail) { [connection] in try await connection.keepAlive() }
    }
    // end

    private let connection = FeedConnection()
    private var sweeps = 0
    private var isWarm = false
}
