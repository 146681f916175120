import ConcurrencySupport
import CoordinatorsTesting
import Flows
import TestSupport
import Testing

@testable import Coordinators

/// What the flows of these tests call.
private final class Line: Sendable {
    struct Busy: Error {}

    /// The calls that fail.
    let busy = Lock<Set<String>>([])
    /// The calls that have come through.
    let calls = Lock<[String]>([])
    /// What calls that wait wait for.
    let isFree = OneShot<Void>()

    func call(_ name: String) throws {
        if busy.withLock({ $0.contains(name) }) { throw Busy() }
        calls.withLock { $0.append(name) }
    }

    func wait() async throws { if await isFree.valueUnlessCancelled() == nil { throw CancellationError() } }
}

extension DependencyKeys {
    fileprivate var line: DependencyKey<Line> { .init() }
    fileprivate var sharedStore: DependencyKey<FlowStore> { .init() }
}

private struct Call: ResponderMessage { var name: String }

private struct Wait: ResponderMessage {
    static var timeout: Duration { .seconds(3_600) }
}

/// Has a flow begin under a key.
private struct Begin: ResponderMessage { var key: String }

private struct Invite: ResponderMessage {
    var page: Guest.Page
    var drains: Bool
}

private struct Write: ResponderMessage { var letter: Letter.Configuration }

/// Writes a letter, and waits until it has been called out.
private struct WriteOut: ResponderMessage { var letter: Letter.Configuration }

/// Finishes a box.
private struct Drop: ResponderMessage {
    typealias Reply = Int
    var box, text: String
}

/// Calls, and has a message call.
private actor Caller: DurableCoordinator {
    enum Page: String, Codable { case call }
    typealias State = Int

    let context: Context
    init(_ context: Context) { self.context = context }

    static func begin(_: NoConfiguration) -> (State, Page?) { (0, .call) }

    func perform(_ page: Page, _ step: Step) async throws -> Change {
        try await context.ask(Call(name: "page"))
        return .commit { $0.send(Call(name: "message")) }
    }
}

/// Waits for an answer beside a child, or for the end of a child.
private actor Guest: DurableCoordinator {
    enum Page: String, Codable, CaseIterable { case asks, runs }
    typealias Configuration = Page
    typealias State = Int

    let context: Context
    init(_ context: Context) { self.context = context }

    static func begin(_ page: Page) -> (State, Page?) { (0, page) }

    func perform(_ page: Page, _ step: Step) async throws -> Change {
        switch page {
        case .asks:
            try await context.start(Companion.self, as: "companion", restart: .transient)
            try await context.ask(Wait())
        case .runs: _ = try await context.run(Companion.self, as: "companion")
        }
        return .finish(NoOutput())
    }

    static func retry(of page: Page) -> RetryPolicy { .never }
}

private actor Companion: Coordinator {
    let context: Context
    init(_ context: Context) { self.context = context }

    func run() async throws {
        try await context.dependencies.line?.wait()
        context.finish()
    }
}

/// Calls out what its configuration says.
private actor Letter: DurableCoordinator {
    struct Configuration: CoordinatorConfiguration {
        var text = ""
        var copies = 1
        var pages = 2
    }

    enum Page: String, Codable { case call }
    typealias State = Int

    let context: Context
    init(_ context: Context) { self.context = context }

    static func begin(_: Configuration) -> (State, Page?) { (0, .call) }

    func perform(_ page: Page, _ step: Step) async throws -> Change {
        let letter = context.configuration
        try await context.ask(Call(name: "\(letter.text) \(letter.copies) \(letter.pages)"))
        return .finish(NoOutput())
    }
}

extension Letter.Configuration {
    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        text = try fields.decode(String.self, forKey: .text)
        copies = try fields.decodeIfPresent(Int.self, forKey: .copies) ?? 1
        pages = try fields.decode(Int.self, forKey: .pages)
    }
}

/// Is finished by the first message.
private actor Box: DurableCoordinator {
    typealias State = Int
    typealias Output = String

    let context: Context
    init(_ context: Context) { self.context = context }

    static func begin(_: NoConfiguration) -> (State, Page?) { (0, nil) }

    static let responders: Responders = [
        .change(Drop.self) { flow, drop in
            flow.finish(drop.text)
            return drop.text.count
        }
    ]
}

/// Drops something into a box, and is finished.
private actor Dropper: DurableCoordinator {
    enum Page: String, Codable { case drop }
    typealias Configuration = String
    typealias State = String

    let context: Context
    init(_ context: Context) { self.context = context }

    static func begin(_ box: String) -> (State, Page?) { (box, .drop) }

    func perform(_ page: Page, _ step: Step) async throws -> Change {
        .commit { flow in
            flow.send(Drop(box: flow.state, text: "news"))
            flow.finish(NoOutput())
        }
    }
}

/// The parent of all these flows.
private actor House: Coordinator {
    let context: Context
    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Call.self, needs: \.line) { _, call, line in try line.call(call.name) },
        .respond(to: Wait.self, needs: \.line) { _, _, line in try await line.wait() },
        .respond(to: Begin.self) { me, begin in
            switch begin.key {
            case "caller": try await me.context.start(Caller.self, as: begin.key, restart: .transient)
            case "resumed-box": try await me.context.start(Box.self, as: begin.key, restart: .transient)
            default: break
            }
            if begin.key.hasSuffix("box") {
                try await me.context.start(Dropper.self, as: "dropper", restart: .transient, with: begin.key)
            }
        },
        .respond(to: Invite.self) { me, invite in
            let shutdown: Shutdown = invite.drains ? .draining(.seconds(1)) : .timeout(.seconds(5))
            try await me.context.start(Guest.self, as: "guest", restart: .transient, shutdown: shutdown, with: invite.page)
        },
        .respond(to: Write.self) { me, write in
            try await me.context.start(Letter.self, as: "letter", restart: .transient, with: write.letter)
        },
        .respond(to: WriteOut.self) { me, write in _ = try await me.context.run(Letter.self, as: "letter", with: write.letter) },
        .forward(Drop.self) { $0.box },
    ]

    func open(section key: String) async throws {
        switch key {
        case "caller": try await context.resume(Caller.self, as: key)
        case "guest": try await context.resume(Guest.self, as: key)
        case "letter": try await context.resume(Letter.self, as: key)
        case "dropper": try await context.resume(Dropper.self, as: key)
        case "started-box": try await context.start(Box.self, as: key, restart: .transient)
        default: try await context.resume(Box.self, as: key)
        }
    }
}

/// Provides the store that others provide, too.
private actor Wing: Coordinator {
    let context: Context
    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Begin.self) { me, begin in try await me.context.start(Caller.self, as: begin.key, restart: .transient) }
    ]

    func start() async throws {
        if let store = context.dependencies.sharedStore { await context.provide(\.flows, store) }
    }

    func open(section key: String) async throws { try await context.resume(Caller.self, as: key) }
}

private actor Wings: Coordinator {
    let context: Context
    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Call.self, needs: \.line) { _, call, line in try line.call(call.name) }
    ]

    func start() async throws { for key in ["a", "b"] { try await context.start(Wing.self, as: key) } }
}

@Suite("The lives of flows", .timeLimit(.minutes(1)))
struct FlowLifeTests {
    private func withHouse(
        _ store: FlowStore,
        _ line: Line = Line(),
        time: ManualTime? = nil,
        _ body: (CoordinatorRuntime) async throws -> Void
    ) async throws {
        try await withRuntime(House.self, dependencies: { ($0.flows, $0.line) = (store, line) }, time: time, body)
    }

    /// Writes the row of a flow anew, with other text in its record.
    private func rewrite(_ key: String, of store: FlowStore, _ replacements: [(former: String, next: String)]) async throws {
        let row = try #require(await store.storage.row(of: key))
        var text = String(decoding: row.record, as: UTF8.self)
        for (former, next) in replacements {
            try #require(text.contains(former), "\(text)")
            text = text.replacing(former, with: next)
        }
        try await commit(Array(text.utf8), due: row.due, after: row, to: store)
    }

    private func commit(_ record: [UInt8], due: WallTime?, after row: FlowRow, to store: FlowStore) async throws {
        let next = FlowRow(
            key: row.key,
            sequence: row.sequence + 1,
            status: row.status,
            due: due,
            changed: row.changed,
            record: record
        )
        try await store.storage.commit(next, [])
    }

    @Test("A graceful stop is no failure of the page that it interrupts", arguments: Guest.Page.allCases, [false, true])
    fileprivate func stopped(page: Guest.Page, drains: Bool) async throws {
        let (store, time) = (FlowStore.inMemory(), ManualTime())
        try await withHouse(store, time: time) { runtime in
            try await runtime.ask(Invite(page: page, drains: drains), at: "/")
            await time.advance(by: .zero)
            #expect(try await runtime.snapshot(of: "/guest/companion").state == .active)
        }
        #expect(try await store.storage.row(of: "guest")?.status == .open)
        let line = Line()
        line.isFree.settle()
        try await withHouse(store, line, time: time) { _ in
            await time.advance(by: .seconds(1))
            let guest = try await store.storage.row(of: "guest")
            #expect(guest?.status == .finished)
        }
    }

    /// A build whose letters have other configurations.
    enum OtherBuild: CaseIterable {
        /// It doesn't know a property that has its default by `init()`, or by `init(from:)`, or knows one more.
        case lacksPages, lacksCopies, hasStamp

        var replacement: (former: String, next: String) {
            switch self {
            case .lacksPages: ("\"pages\":", "\"sheets\":")
            case .lacksCopies: ("\"copies\":", "\"prints\":")
            case .hasStamp: ("\"configuration\":{", "\"configuration\":{\"stamp\":\"red\",")
            }
        }
    }

    @Test("A flow goes on in a build whose configurations have other properties", arguments: OtherBuild.allCases)
    func otherConfiguration(build: OtherBuild) async throws {
        let (store, line, time) = (FlowStore.inMemory(), Line(), ManualTime())
        let letter = Letter.Configuration(text: "hello")
        line.busy.withLock { $0 = ["hello 1 2"] }
        try await withHouse(store, line, time: time) { runtime in
            try await runtime.ask(Write(letter: letter), at: "/")
            await time.advance(by: .zero)
        }
        try await rewrite("letter", of: store, [build.replacement])
        try await withHouse(store, line, time: time) { runtime in
            await time.advance(by: .seconds(2))
            #expect(try await runtime.snapshot(of: "/letter").state == .active)
            // A call joins the one that is open, and gets the output of the one that is over.
            async let joined: Void = runtime.ask(WriteOut(letter: letter), at: "/", timeout: .seconds(60))
            await time.advance(by: .zero)
            line.busy.withLock { $0 = [] }
            await time.advance(by: .seconds(10))
            try await joined
            try await runtime.ask(WriteOut(letter: letter), at: "/")
            #expect(line.calls.withLock { $0 } == ["hello 1 2"])
            let error = await #expect(throws: CoordinatorError.self) {
                try await runtime.ask(WriteOut(letter: Letter.Configuration(text: "hello", copies: 7)), at: "/")
            }
            #expect(error?.code == .configurationDiffers)
        }
    }

    @Test("A flow of a newer version whose configuration a build can't read is left as it is by it")
    func newerConfiguration() async throws {
        let (store, line, time) = (FlowStore.inMemory(), Line(), ManualTime())
        line.busy.withLock { $0 = ["hello 1 2"] }
        try await withHouse(store, line, time: time) { runtime in
            try await runtime.ask(Write(letter: Letter.Configuration(text: "hello")), at: "/")
            await time.advance(by: .zero)
        }
        line.busy.withLock { $0 = [] }
        let (present, newer) = (["\"version\":1", "\"text\":\"hello\""], ["\"version\":2", "\"text\":7"])
        try await rewrite("letter", of: store, zip(present, newer).map { (former: $0, next: $1) })
        let row = try await store.storage.row(of: "letter")
        try await withHouse(store, line, time: time) { runtime in
            await time.advance(by: .seconds(120))
            await #expect(throws: CoordinatorError.self) { try await runtime.retryFlow("/letter") }
            let letter = try await store.storage.row(of: "letter")
            #expect(letter == row)
        }
        try await rewrite("letter", of: store, zip(newer, present).map { (former: $0, next: $1) })
        try await withHouse(store, line, time: time) { _ in
            await time.advance(by: .seconds(1))
            #expect(line.calls.withLock { $0 } == ["hello 1 2"])
        }
    }

    @Test("A pause that would take a day, since the clock has been set back, is over", arguments: ["page", "message"])
    func setBack(name: String) async throws {
        let (store, line, time) = (FlowStore.inMemory(), Line(), ManualTime())
        line.busy.withLock { $0 = [name] }
        try await withHouse(store, line, time: time) { runtime in
            try await runtime.ask(Begin(key: "caller"), at: "/")
            await time.advance(by: .zero)
        }
        let row = try #require(await store.storage.row(of: "caller"))
        var record = try row.decoded()
        let later = row.changed + .seconds(86_400)
        if let work = record.work {
            record.failed(work, "busy", at: row.changed) { _ in later }
        } else {
            let message = try #require(record.outgoing.first)
            record.stayed(message.origin, message.number, "busy", resumption: later, at: row.changed)
        }
        #expect(record.due == later)
        // It's opened at once, as by a message.
        try await commit(record.text, due: .distantPast, after: row, to: store)
        line.busy.withLock { $0 = [] }
        try await withHouse(store, line, time: time) { _ in
            await time.advance(by: .seconds(1))
            #expect(line.calls.withLock { $0 } == ["page", "message"])
        }
    }

    @Test("The store of two coordinators is the first one's until that ends, and the flows of the second are refused so long")
    func twoOwners() async throws {
        let (store, line) = (FlowStore.inMemory(), Line())
        line.busy.withLock { $0 = ["page"] }
        try await withRuntime(Wings.self, dependencies: { ($0.sharedStore, $0.line) = (store, line) }) { runtime in
            try await runtime.ask(Begin(key: "1"), at: "/a")
            for key in ["1", "2"] {
                let error = await #expect(throws: CoordinatorError.self) { try await runtime.ask(Begin(key: key), at: "/b") }
                #expect(error?.code == .storeInUse, "\(error.map { "\($0)" } ?? "none")")
                #expect(error?.message.contains("/a") == true && error?.message.contains("/b") == true)
            }
            #expect(try await runtime.flows().entries.map(\.path) == ["/a/1"])
            // The end of the second one doesn't close the store, and the first one has it in its next life, too.
            try await runtime.restart("/b")
            try await runtime.restart("/a")
            line.busy.withLock { $0 = [] }
            try await eventually("the first one's flow goes on") { line.calls.withLock { $0 } == ["page", "message"] }
            #expect(try await runtime.flows().entries.map(\.path) == ["/a/1"])
            try await runtime.stop("/a")
            try await runtime.ask(Begin(key: "2"), at: "/b")
            #expect(try await runtime.flow("/b/2").flow.status == .open)
        }
    }

    @Test("A message that comes again to a flow that it has finished gets its reply again", arguments: ["started-box", "resumed-box"])
    func finished(box: String) async throws {
        let runs = try await withEveryCrash { store in
            try await withHouse(store) { runtime in
                while try await store.storage.row(of: "dropper") == nil { _ = try? await runtime.ask(Begin(key: box), at: "/") }
                try await eventually("the message's end is known") {
                    let row = try await store.storage.row(of: "dropper")
                    return row?.status == .finished && row?.due == nil
                }
                #expect(try await store.storage.row(of: box)?.status == .finished)
            }
        }
        #expect(runs > 8, "\(runs) runs")
    }
}
