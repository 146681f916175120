// Saves: 5 % of the median from `kill -9` of a worker to the answer of its spare, 2.63 ms without it and 2.50 ms with it; 19 % of the p99.
// Measured: `Measure kills spares=2`, ten rounds in turn on a busy machine.
// Off: COORDINATORS_SLOW_PATH_ONLY: a spare makes its tables, and waits.

import ConcurrencySupport
import Logging
import WireProtocol

/// A trial run of a spare that waits for its coordinator: it starts one in a separate runtime, has it answer an encoded ask, and stops it.
///
/// Swift finds types and conformances when they're first used, and the kernel maps code when it's first run: together half of the time from a
/// spare's start to its first answer.
enum WarmUp {
    static func run() async {
        var options = CoordinatorRuntime.Options()
        options.logger = Logger(label: "warm-up") { _ in SwiftLogNoOpLogHandler() }
        let runtime = RuntimeCore(options)
        guard let configuration = try? PayloadCoder.encode(WarmUpCoordinator.Configuration(), as: .compact) else { return }
        let cell = CoordinatorCell(
            type: .of(WarmUpCoordinator.self),
            configuration: .encoded(.compact, configuration, isComplete: true),
            path: .root.appending("warm-up"),
            incarnation: 1,
            parent: nil,
            runtime: runtime
        )
        guard (try? await cell.start()) != nil else { return }
        for codec in [PayloadCodec.compact, .json] { await ask(cell, codec) }
        cell.stop(.timeout(.seconds(1)))
    }

    private static func ask(_ cell: CoordinatorCell, _ codec: PayloadCodec) async {
        guard let line = try? PayloadCoder.encode(Line(), as: codec) else { return }
        let answer = OneShot<Void>()
        let body = Envelope.Body.encoded(name: Line.wireName, codec, Payload(line))
        let asker = Envelope.Asker.function { result in
            _ = try? result.get().encoded(as: codec)
            answer.settle()
        }
        cell.climb(Envelope(body, asker: asker, sender: .root, deadline: .now + .seconds(5)))
        await answer.value
    }
}

private struct Line: ResponderMessage {
    struct Reply: Codable { var text = "", number = 0 }

    var text = "", number = 0
}

private actor WarmUpCoordinator: Coordinator {
    struct Configuration: CoordinatorConfiguration { var text = "", number = 0 }

    static let responders: Responders = [.respond(to: Line.self) { _, line in Line.Reply(text: line.text, number: line.number) }]

    nonisolated let context: Context

    init(_ context: Context) { self.context = context }
}
