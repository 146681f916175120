public import Flows
public import WireProtocol

/// A coordinator whose flow survives its process: its state and its pages are in a store, and go on from there in the next life.
///
///     actor OrderCoordinator: DurableCoordinator {
///         enum Page: String, Codable { case reserve, charge }
///         static func begin(_ order: Order) -> (Order, Page?) { (order, .reserve) }
///         func perform(_ page: Page, _ step: Step) async throws -> Change {
///             switch page {
///             case .reserve: try await context.ask(Stock.Reserve(order: context.state, key: step.key)); return .show(.charge)
///             case .charge: return .finish(try await bank.charge(context.state, key: step.key))
///             }
///         }
///         func undo(_ page: Page, _ step: Step) async throws { … }
///     }
///
/// A page that is shown is performed, one that is popped is undone, and `finish` is the result. ``perform(_:_:)`` and ``undo(_:_:)`` are work: they
/// run at least once, never two at a time, and change nothing by themselves. A *change* is what they return, what a row `.change` makes, or
/// ``CoordinatorContext/change(_:)``: one commit of the store, with the state, the pages and the messages that leave, all or nothing, once.
///
/// The store is the dependency `flows`, see ``FlowStore``. A flow lives under its child's key, which no other flow of the same parent has at the same
/// time. See <doc:DurableFlows>.
public protocol DurableCoordinator: Coordinator {
    /// What the flow keeps beside its pages. Optional properties may be added without a new ``version``.
    associatedtype State: Codable & Sendable

    /// What a page's work leads to.
    typealias Change = FlowChange<Self>

    /// Returns the state and the first page of a new flow.
    static func begin(_ configuration: Configuration) throws -> (State, Page?)

    /// Does what a page stands for, when it has been shown. By default nothing, and the page stays.
    ///
    /// It's called again, with the same key, when it has thrown, or when the process has ended before the change was on disk: what is done outside
    /// of the flow is done by that key. An error means that the outcome isn't known. A page that is known to have done nothing, and can't, returns
    /// ``FlowChange/unwind(because:)``.
    func perform(_ page: Page, _ step: Step) async throws -> Change

    /// Undoes what a page has done, when it has been popped. By default nothing.
    ///
    /// A page whose outcome isn't known is performed once more before that. Pages are undone from the top down.
    func undo(_ page: Page, _ step: Step) async throws

    /// The attempts at a page and the pauses between them; after that the flow is parked until an operator says how to go on. By default eight
    /// attempts, with pauses of a second doubling to a minute. An attempt that ends with the coordinator isn't counted.
    static func retry(of page: Page) -> RetryPolicy

    /// The number of the form of the state and the pages; 1 by default.
    static var version: Int { get }

    /// Brings a stored flow of a former version to the next one; called once for each version between. By default nothing changes.
    static func migrate(_ flow: inout StoredFlow) throws
}

extension DurableCoordinator {
    /// The default: nothing is done, and the page stays.
    public func perform(_ page: Page, _ step: Step) async throws -> Change { .stay }
    /// The default: there is nothing to undo.
    public func undo(_ page: Page, _ step: Step) async throws {}
    /// The default: eight attempts, with pauses of a second doubling to a minute.
    public static func retry(of page: Page) -> RetryPolicy {
        RetryPolicy(attempts: 8, backoff: Backoff(minimum: .seconds(1), maximum: .seconds(60)))
    }
    /// The default: the first version.
    public static var version: Int { 1 }
    /// The default: nothing changes.
    public static func migrate(_ flow: inout StoredFlow) throws {}
}

/// One attempt at a page.
public struct Step: Sendable, Hashable {
    /// The key of this showing of the page: the same in all attempts, lives and processes, and of no other showing.
    public var key: String { "\(String(flow, radix: 16))-\(number)" }
    /// The key under which the page is undone.
    public var undoKey: String { key + "-undo" }
    /// The number of the attempt, counted from 1.
    public let attempt: Int
    private let flow, number: UInt64

    init(_ work: FlowRecord.Work, of flow: UInt64) {
        let showing = work.showing
        (self.flow, number) = (flow, showing.number)
        attempt = showing.failures &+ showing.interruptions &+ 1
    }
}

/// A flow within one change of it: the body of a change reads and writes it, and all of that is one commit.
///
/// It exists as long as the body runs. When the body throws, nothing has changed.
public struct Flow<C: DurableCoordinator>: ~Copyable {
    /// The flow's state.
    public var state: C.State
    /// The pages that are shown, bottom first.
    public private(set) var pages: [C.Page]
    /// The time of the change, by the wall clock.
    public let now: WallTime

    private(set) var edits: [FlowRecord.Edit] = []
    /// What the store itself is to do in the same commit; each store knows its own.
    package var writes: [any Sendable] = []
    /// The pages that the change shows.
    private(set) var newPages = NewPages<C.Page>()
    /// The reason why a value can't be stored.
    private(set) var error: CoordinatorError?

    init(state: C.State, pages: [C.Page], now: WallTime) { (self.state, self.pages, self.now) = (state, pages, now) }

    /// Shows a page on top; it's performed when those below it are done.
    public mutating func show(_ page: C.Page) {
        pages.append(page)
        guard let text = encoded({ () throws(CoordinatorError) in try page.encodedAsText() }) else { return }
        newPages.add(page, as: text)
        edits.append(.show(text))
    }

    /// Removes the topmost page, which is undone if anything has been done for it.
    public mutating func pop() {
        _ = pages.popLast()
        edits.append(.pop)
    }

    /// Undoes all pages, from the top down, and ends the flow: ``CoordinatorContext/run(_:as:shutdown:with:)`` throws `unwound` with the reason.
    ///
    /// In the change that ``DurableCoordinator/perform(_:_:)`` returns it says that the page itself has done nothing.
    public mutating func unwind(because reason: String) {
        pages = []
        edits.append(.unwind(because: reason))
    }

    /// Ends the flow with its output, once what has begun has come to its end; its pages aren't undone.
    public mutating func finish(_ output: C.Output) {
        if let output = encoded({ () throws(CoordinatorError) in try output.encodedExactly() }) { edits.append(.finish(output)) }
    }

    /// Sends a message: it leaves after the commit, at the time or later, until it's known to have been handled.
    ///
    /// It climbs from the flow's own rows. A row `.change` of a durable coordinator handles it once; another one at least once, in order as long as
    /// nothing fails.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - delay: The time after which it leaves, by the wall clock, also if the process is down meanwhile.
    public mutating func send<M: ResponderMessage>(_ message: M, after delay: Duration = .zero) {
        let due = now + delay
        if let message = encoded({ () throws(CoordinatorError) in try message.encodedExactly() }) {
            edits.append(.send(FlowRecord.Outgoing(name: M.name, message: message, due: due)))
        }
    }

    /// Drops the messages of a type that haven't left.
    public mutating func cancel<M: ResponderMessage>(_ message: M.Type) { edits.append(.cancel(M.names)) }

    private mutating func encoded<JSON>(_ encode: () throws(CoordinatorError) -> JSON) -> JSON? {
        do throws(CoordinatorError) { return try encode() } catch { self.error = self.error ?? error }
        return nil
    }
}

/// Pages that a change shows, as values and as a record has them.
struct NewPages<Page> {
    private var values: [Page] = []
    private var pages: [JSONText] = []

    mutating func add(_ value: Page, as page: JSONText) {
        values.append(value)
        pages.append(page)
    }

    /// The first of the pages, as a record keeps it.
    var first: JSONText? { pages.first }

    /// Returns the value of a page of a record, if it's one of these.
    func value(of page: JSONText) -> Page? { pages.firstIndex(of: page).map { values[$0] } }
}

/// What the work of a page leads to, as one commit.
public struct FlowChange<C: DurableCoordinator>: Sendable {
    let body: @Sendable (inout Flow<C>) throws -> Void

    /// A change that a function makes, which may run more than once and does nothing else.
    public static func commit(_ body: @escaping @Sendable (inout Flow<C>) throws -> Void) -> FlowChange { FlowChange(body: body) }

    /// The page is done, and stays on top until something else happens.
    public static var stay: FlowChange { commit { _ in } }

    /// The page is done, and the next one is shown.
    public static func show(_ page: C.Page) -> FlowChange { commit { $0.show(page) } }

    /// The page is done, and the flow with it.
    public static func finish(_ output: C.Output) -> FlowChange { commit { $0.finish(output) } }

    /// The page has done nothing, and those below it are undone.
    public static func unwind(because reason: String) -> FlowChange { commit { $0.unwind(because: reason) } }
}

/// A stored flow of a former version, as JSON.
public struct StoredFlow: Sendable, Hashable {
    /// The version that it has.
    public let version: Int
    /// The state.
    public var state: JSONValue
    /// The pages, bottom first, those included that are being undone; as many as before.
    public var pages: [JSONValue]
}
