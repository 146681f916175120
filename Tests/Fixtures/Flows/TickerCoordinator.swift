public import Coordinators

public enum Ticker {
    /// Has the coordinator be called again and again.
    public struct Every: ResponderMessage {
        public var milliseconds: Int
        /// The time that each call takes.
        public var lastsMilliseconds = 0
        public var fails = false
        public init(_ milliseconds: Int, lasts: Int = 0, fails: Bool = false) {
            (self.milliseconds, lastsMilliseconds, self.fails) = (milliseconds, lasts, fails)
        }
    }

    /// Has the coordinator note a word later.
    public struct After: ResponderMessage {
        public var milliseconds: Int
        public var word: String
        public init(_ milliseconds: Int, _ word: String) { (self.milliseconds, self.word) = (milliseconds, word) }
    }

    /// Cancels all timers.
    public struct Cancel: ResponderMessage {
        public init() {}
    }

    /// The number of calls, and how many of them ran at the same time at most.
    public struct Calls: ResponderMessage {
        public struct Reply: Codable, Sendable {
            public var count: Int
            public var atOnce: Int
        }
        public init() {}
    }

    /// Has a task of the coordinator throw.
    public struct FailingTask: ResponderMessage {
        public var ends: Bool
        public init(ends: Bool) { self.ends = ends }
    }
}

/// Calls itself at its times.
public actor TickerCoordinator: Coordinator {
    public typealias Configuration = NotebookConfiguration

    public nonisolated let context: Context
    private var timers: [CoordinatorTimer] = []
    private var count = 0
    private var running = 0
    private var atOnce = 0

    public init(_ context: Context) { self.context = context }

    public static let responders: Responders = [
        .respond(to: Ticker.Every.self) { me, every in
            me.timers.append(me.context.every(.milliseconds(every.milliseconds)) { me in try await me.tick(every) })
        },
        .respond(to: Ticker.After.self) { me, after in
            me.timers.append(me.context.after(.milliseconds(after.milliseconds)) { me in me.note(after.word) })
        },
        .respond(to: Ticker.Cancel.self) { me, _ in for timer in me.timers { timer.cancel() } },
        .respond(to: Ticker.Calls.self) { me, _ in Ticker.Calls.Reply(count: me.count, atOnce: me.atOnce) },
        .respond(to: Ticker.FailingTask.self) { me, task in
            me.context.task(onError: task.ends ? .fail : .log) { throw Fixture.Refusal("the task fails") }
        },
    ]

    private func tick(_ every: Ticker.Every) async throws {
        count += 1
        running += 1
        atOnce = max(atOnce, running)
        defer { running -= 1 }
        note("tick")
        if every.lastsMilliseconds > 0 { try await context.clock.sleep(for: .milliseconds(every.lastsMilliseconds)) }
        if every.fails { throw Fixture.Refusal("this call fails") }
    }
}
