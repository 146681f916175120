import ConcurrencySupport
import Coordinators
import CoordinatorsSQLite
import Glibc

/// The order saga: reserve, perhaps approve, charge, ship; all of it undone if one of these can't be done.
actor OrderCoordinator: DurableCoordinator {
    enum Page: String, Codable { case reserve, approve, charge, ship }
    struct State: Codable { var order: Order; var receipt: Receipt? }
    typealias Configuration = Order
    typealias Output = Receipt

    let context: Context
    init(_ context: Context) { self.context = context }

    static func begin(_ order: Order) -> (State, Page?) { (State(order: order), .reserve) }

    func perform(_ page: Page, _ step: Step) async throws -> Change {
        let order = context.state.order
        switch page {
        case .reserve:
            try await context.ask(Stock.Reserve(item: order.item, key: step.key))
            return .show(order.cents < 100_000 ? .charge : .approve)
        case .approve: return .commit { $0.send(Orders.TooLate(), after: .seconds(259_200)) }
        case .charge:
            switch try await context.ask(Bank.Charge(card: order.card, cents: order.cents, key: step.key)) {
            case nil: return .unwind(because: "the card was declined")
            case let number?:
                return .commit { flow in
                    if order.isBooked { flow.write { try $0.book(order, key: step.key) } }
                    flow.state.receipt = Receipt(number: number)
                    flow.send(Mail.Send(text: "charged: \(number)"))
                    flow.show(.ship)
                }
            }
        case .ship:
            try await context.ask(Stock.Ship(key: step.key))
            return .commit { flow in flow.state.receipt.map { flow.finish($0) } }
        }
    }

    func undo(_ page: Page, _ step: Step) async throws {
        switch page {
        case .reserve: try await context.ask(Stock.Release(key: step.key))
        case .charge: try await context.ask(Bank.Refund(charge: step.key, key: step.undoKey))
        case .approve, .ship: break
        }
    }

    static func retry(of page: Page) -> RetryPolicy {
        RetryPolicy(attempts: 4, backoff: Backoff(minimum: .milliseconds(5), maximum: .milliseconds(20)))
    }

    static let responders: Responders = [
        .change(Orders.Approve.self) { flow, _ in
            guard flow.pages.last == .approve else { return false }
            flow.cancel(Orders.TooLate.self)
            flow.show(.charge)
            return true
        },
        .change(Orders.Withdraw.self) { flow, _ in flow.unwind(because: "withdrawn") },
        .change(Orders.TooLate.self) { flow, _ in
            if flow.pages.last == .approve { flow.unwind(because: "not approved in three days") }
        },
    ]
}

extension OrderCoordinator {
    /// `FLOW_VERSION` says which build this is; one with `FLOW_MIGRATES=no` can't read what a former one has left.
    static var version: Int { Int(Buyer.variable("FLOW_VERSION")) ?? 1 }

    static func migrate(_ flow: inout StoredFlow) throws {
        if Buyer.variable("FLOW_MIGRATES") == "no" { throw CoordinatorError(.coding, "the state of version \(flow.version) has no tax") }
    }
}

struct Order: Codable, Sendable, Hashable {
    var number = 1
    var item = "book"
    var card = "good"
    var cents = 500
    /// Whether the charge is booked in the store's own database.
    var isBooked = false
}

extension Database {
    /// Writes a row for a charge, which isn't unique: a second one would be seen.
    func book(_ order: Order, key: String) throws(SQLiteError) {
        try execute("CREATE TABLE IF NOT EXISTS booked(number INTEGER, key TEXT)")
        try execute("INSERT INTO booked VALUES (\(order.number), \(key))")
    }
}

struct Receipt: Codable, Sendable, Hashable { var number: Int }

enum Orders {
    struct Approve: ResponderMessage { typealias Reply = Bool; var number: Int }
    struct Withdraw: ResponderMessage { var number: Int }
    struct TooLate: ResponderMessage {}
}

enum Stock {
    struct Reserve: ResponderMessage { var item: String; var key: String }
    struct Release: ResponderMessage { var key: String }
    struct Ship: ResponderMessage { var key: String }
}

enum Bank {
    /// The number of the charge; `nil`: it was declined.
    struct Charge: ResponderMessage { typealias Reply = Int?; var card: String; var cents: Int; var key: String }
    struct Refund: ResponderMessage { var charge: String; var key: String }
}

enum Mail { struct Send: ResponderMessage { var text: String } }

/// The services that the saga uses, which know the keys of what they have done.
final class Services: Sendable {
    struct Books {
        /// What was done and not undone, with its key, in order.
        var done: [String] = []
        /// All that was done, with the number of times that it was asked for.
        var asked: [String: Int] = [:]
        var undone: [String] = []
        var mails: [String] = []
        /// The number of times that each service fails before it does something.
        var failures: [String: Int] = [:]
        /// The services that don't answer, and what each of them waits for.
        var silent: [String: OneShot<Void>] = [:]
        /// The number of times that each service does something, and its answer is lost.
        var lostAnswers: [String: Int] = [:]
    }

    struct Unreachable: Error {}

    let books = Lock(Books())
    /// The file in which the services of a process write what they do, for the next process; `nil`: there is none.
    private let ledger: Ledger?

    init(ledger path: String? = nil) { ledger = path.map { Ledger($0) } }

    /// Has a service answer nothing until it speaks again.
    func silence(_ service: String) { books.withLock { $0.silent[service] = OneShot<Void>() } }

    func speak(_ service: String) { books.withLock { $0.silent.removeValue(forKey: service) }?.settle() }

    /// Waits until a service speaks.
    func hear(_ service: String) async throws {
        guard let silence = books.withLock({ $0.silent[service] }) else { return }
        if await silence.valueUnlessCancelled() == nil { throw CancellationError() }
    }

    /// Does something once for a key.
    func perform(_ service: String, _ key: String) throws {
        try books.withLock { books in
            if books.failures[service, default: 0] > 0 {
                books.failures[service]! -= 1
                throw Unreachable()
            }
            let what = "\(service) \(key)"
            books.asked[what, default: 0] += 1
            if books.asked[what] == 1, ledger?.note("do \(what)") != false { books.done.append(what) }
            if books.lostAnswers[service, default: 0] > 0 {
                books.lostAnswers[service]! -= 1
                throw Unreachable()
            }
        }
    }

    func undo(_ service: String, _ key: String) {
        books.withLock { books in
            let what = "\(service) \(key)"
            _ = ledger?.note("undo \(what)")
            guard let index = books.done.firstIndex(of: what) else { return }
            books.undone.append(service)
            books.done.remove(at: index)
        }
    }
}

/// What the services of one process after another have done, a line each.
private struct Ledger: Sendable {
    private let path: String

    init(_ path: String) { self.path = path }

    /// Writes a line, unless it's there.
    ///
    /// - Returns: Whether it's new.
    func note(_ line: String) -> Bool {
        let file = open(path, O_RDWR | O_CREAT | O_APPEND, 0o600)
        guard file >= 0 else { return false }
        defer { close(file) }
        var (text, part) = ([UInt8](), [UInt8](repeating: 0, count: 65_536))
        while case let count = read(file, &part, part.count), count > 0 { text += part[..<count] }
        guard !String(decoding: text, as: UTF8.self).split(separator: "\n").contains(Substring(line)) else { return false }
        let bytes = Array("\(line)\n".utf8)
        // One call: a process that is killed has written all of it, or nothing.
        return write(file, bytes, bytes.count) == bytes.count
    }
}

extension DependencyKeys {
    var services: DependencyKey<Services> { .init() }
}

/// The parent of all orders, which provides what they need.
actor OrdersCoordinator: Coordinator {
    let context: Context
    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .forward(Orders.Approve.self) { "\($0.number)" },
        .forward(Orders.Withdraw.self) { "\($0.number)" },
        .respond(to: Buy.self) { me, buy in try await me.context.run(OrderCoordinator.self, as: "\(buy.order.number)", with: buy.order) },
        .respond(to: Begin.self) { me, begin in
            try await me.context.start(OrderCoordinator.self, as: "\(begin.order.number)", restart: .transient, with: begin.order)
        },
        .respond(to: Stock.Reserve.self, needs: \.services) { _, reserve, services in try services.perform("reserve", reserve.key) },
        .respond(to: Stock.Release.self, needs: \.services) { _, release, services in services.undo("reserve", release.key) },
        .respond(to: Stock.Ship.self, needs: \.services) { _, ship, services in
            try await services.hear("ship")
            try services.perform("ship", ship.key)
        },
        .respond(to: Bank.Charge.self, needs: \.services) { _, charge, services in
            if charge.card == "poison" { kill(getpid(), SIGKILL) }
            guard charge.card == "good" else { return nil }
            try services.perform("charge", charge.key)
            return charge.cents
        },
        .respond(to: Bank.Refund.self, needs: \.services) { _, refund, services in services.undo("charge", refund.charge) },
        .respond(to: Mail.Send.self, needs: \.services) { _, mail, services in
            try await services.hear("mail")
            services.books.withLock { $0.mails.append(mail.text) }
        },
    ]

    struct Buy: ResponderMessage {
        typealias Reply = Receipt
        static var timeout: Duration { .seconds(30) }
        var order: Order
    }

    struct Begin: ResponderMessage { var order: Order }

    func open(section key: String) async throws { try await context.resume(OrderCoordinator.self, as: key) }
}
