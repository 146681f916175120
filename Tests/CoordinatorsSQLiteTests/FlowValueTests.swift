import Coordinators
import CoordinatorsTesting
import TestSupport
import Testing

/// The places of a flow in which a value is kept.
private enum Place: String, Codable, CaseIterable {
    case configuration, state, page, message, output
}

/// Has a flow keep a number at a place.
private struct Keep: ResponderMessage {
    static var timeout: Duration { .seconds(60) }
    var place: Place
    var number: UInt64
}

private struct Note: ResponderMessage { var number: UInt64 }

/// A flow that keeps a number wherever one can be kept.
private actor Keeper: DurableCoordinator {
    typealias Configuration = UInt64
    typealias State = UInt64
    typealias Page = [UInt64]
    typealias Output = UInt64

    let context: Context
    init(_ context: Context) { self.context = context }

    static func begin(_: UInt64) -> (State, Page?) { (0, nil) }

    func perform(_ page: Page, _ step: Step) async throws -> Change { .stay }

    static let responders: Responders = [
        .change(Keep.self) { flow, keep in
            switch keep.place {
            case .state: flow.state = keep.number
            case .page: flow.show([keep.number])
            case .message: flow.send(Note(number: keep.number), after: .seconds(3_600))
            case .output: flow.finish(keep.number)
            case .configuration: break
            }
        }
    ]
}

private actor Keepers: Coordinator {
    let context: Context
    init(_ context: Context) { self.context = context }

    static let responders: Responders = [
        .respond(to: Keep.self) { me, keep in
            let key = keep.place.rawValue
            try await me.context.start(Keeper.self, as: key, restart: .transient, with: keep.place == .configuration ? keep.number : 0)
            if keep.place != .configuration { try await #require(me.context.child(key, as: Keeper.self)).ask(keep) }
        },
        .respond(to: Note.self) { _, _ in },
    ]
}

@Suite("Values of a flow", .timeLimit(.minutes(1)))
struct FlowValueTests {
    @Test("A number is kept as it is, or refused: no text of JSON is read as another number", arguments: Place.allCases)
    fileprivate func numbers(place: Place) async throws {
        for (number, isKept) in [(9_007_199_254_740_993, true), (UInt64(Int64.max), true), (UInt64(Int64.max) + 1, false), (.max, false)] {
            let store = FlowStore.inMemory()
            try await withRuntime(Keepers.self, dependencies: { $0.flows = store }) { runtime in
                do {
                    try await runtime.ask(Keep(place: place, number: number), at: "/")
                    let record = try #require(await store.storage.row(of: place.rawValue)).record
                    #expect(isKept && String(decoding: record, as: UTF8.self).contains("\(number)"))
                } catch let error as CoordinatorError {
                    #expect(!isKept && error.code == .coding && error.message.contains("\(number)"), "\(error)")
                }
            }
        }
    }
}
