import Coordinators
import CoordinatorsTesting
import TestSupport
import Testing

private enum Tea {
    struct Give: ResponderMessage {
        typealias Reply = NoReply
        var leaves: String?
        var water: String?
        var sugar: String?
    }

    struct Brew: ResponderMessage { typealias Reply = String }
    struct Serve: ResponderMessage { typealias Reply = String }
    struct Sips: ResponderMessage { typealias Reply = String }
    struct Note: ResponderMessage { var text: String }
    struct Stir: ResponderMessage {}
    struct Mix: ResponderMessage {}
    struct Pour: ResponderMessage {}
    struct Notes: ResponderMessage { typealias Reply = [String] }
}

extension DependencyKeys {
    fileprivate var leaves: DependencyKey<String> { .init() }
    fileprivate var water: DependencyKey<String> { .init() }
    fileprivate var sugar: DependencyKey<String> { .init() }
}

extension Dependencies {
    /// Reads the second key only if the first is there, and the third only if both are.
    fileprivate var tea: String? {
        guard let leaves = self.leaves, let water = self.water else { return nil }
        guard let sugar = self.sugar else { return nil }
        return "\(leaves) in \(water) with \(sugar)"
    }
}

/// Also a test of the compiler: bodies of several statements, of messages without a reply, in all three forms.
private actor Kitchen: Coordinator {
    nonisolated let context: Context
    private var notes: [String] = []

    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Tea.Give.self) { me, gift in
            if let leaves = gift.leaves { await me.context.provide(\.leaves, leaves) }
            if let water = gift.water { await me.context.provide(\.water, water) }
            if let sugar = gift.sugar { await me.context.provide(\.sugar, sugar) }
        },
        .respond(to: Tea.Brew.self, needs: \.tea) { _, _, tea in tea },
        .intercept(Tea.Serve.self, needs: \.leaves) { _, serve, chain, leaves in
            let served = try await chain.next(serve)
            return "\(leaves): \(served)"
        },
        .respond(to: Tea.Serve.self, needs: \.leaves, \.water) { me, _, context, leaves, water in
            me.notes.append("served")
            return "\(leaves), \(water), \(context.sender)"
        },
        .respond(to: Tea.Mix.self, needs: \.leaves, \.water) { me, _, leaves, water in
            me.notes.append(leaves)
            me.notes.append(water)
        },
        .stream(Tea.Sips.self, needs: \.leaves, \.water, \.sugar) { _, _, replies, leaves, water, sugar in
            for part in [leaves, water, sugar] { try await replies.send(part) }
        },
        .intercept(Tea.Note.self) { me, note, chain in
            me.notes.append("seen")
            _ = try await chain.next(note)
            me.notes.append("done")
        },
        .respond(to: Tea.Note.self) { me, note, context in
            me.notes.append(note.text)
            me.notes.append("\(context.sender)")
        },
        .respond(to: Tea.Stir.self, needs: \.tea) { me, _, tea in
            me.notes.append("stirred")
            me.notes.append(tea)
        },
        .respond(to: Tea.Pour.self) { me, _ in
            me.notes.append("poured")
            me.notes.append("drunk")
        },
        .respond(to: Tea.Notes.self) { me, _ in me.notes },
    ]
}

@Suite("Rows and what they need", .timeLimit(minutes: 3))
struct NeedsTests {
    @Test("A row with a property that reads several keys waits until all are provided, in any order")
    func severalKeys() async throws {
        let gifts: [Tea.Give] = [.init(leaves: "assam"), .init(water: "rain"), .init(sugar: "candy")]
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
            try await withRuntime(Kitchen.self) { runtime in
                let early = Task.immediate { try await runtime.ask(Tea.Brew(), timeout: .seconds(20)) }
                for number in order {
                    try await runtime.ask(gifts[number], timeout: .seconds(20))
                    // What needs nothing passes, and nothing else has begun.
                    _ = try await runtime.ask(Tea.Notes(), timeout: .seconds(20))
                }
                #expect(try await early.value == "assam in rain with candy")
                #expect(try await runtime.ask(Tea.Brew(), timeout: .seconds(20)) == "assam in rain with candy")
            }
        }
    }

    @Test("Rows of every kind need several keys, and wait for the last of them")
    func kinds() async throws {
        try await withRuntime(Kitchen.self) { runtime in
            let served = Task.immediate { try await runtime.ask(Tea.Serve(), timeout: .seconds(20)) }
            let sip = Task.immediate { try await runtime.ask(Tea.Sips(), timeout: .seconds(20)) }
            for gift in [Tea.Give(sugar: "candy"), .init(leaves: "assam")] {
                try await runtime.ask(gift, timeout: .seconds(20))
                #expect(try await runtime.ask(Tea.Notes(), timeout: .seconds(20)).isEmpty)
            }
            try await runtime.ask(Tea.Give(water: "rain"), timeout: .seconds(20))
            #expect(try await served.value == "assam: assam, rain, /")
            #expect(try await sip.value == "assam")
            try await runtime.ask(Tea.Mix(), timeout: .seconds(20))
            #expect(try await runtime.ask(Tea.Notes(), timeout: .seconds(20)) == ["served", "assam", "rain"])
        }
    }

    @Test("Bodies of several statements that answer nothing")
    func statements() async throws {
        try await withRuntime(Kitchen.self) { runtime in
            try await runtime.ask(Tea.Note(text: "hello"))
            try await runtime.ask(Tea.Give(leaves: "assam", water: "rain", sugar: "candy"))
            try await runtime.ask(Tea.Stir(), timeout: .seconds(20))
            try await runtime.ask(Tea.Pour())
            let notes = try await runtime.ask(Tea.Notes())
            #expect(notes == ["seen", "hello", "/", "done", "stirred", "assam in rain with candy", "poured", "drunk"])
        }
    }
}
