import WireProtocol

/// The values of the vectors in the written format.
enum Samples {
    static let secret = [UInt8](0..<32)

    static let ticket = Ticket(
        address: "ipc:///run/coordinator/ab12",
        secret: secret,
        path: "/shop/mailer",
        incarnation: 7,
        parentProcessID: 4000,
        isStrict: true,
        orphanGraceMilliseconds: 10_000,
        epoch: 1
    )

    static func json(_ text: String) -> Bytes { Array(text.utf8)[...] }

    static let frames: [String: Frame] = [
        "hello": Frame(
            .hello(
                Hello(
                    secret: secret,
                    processID: 4242,
                    processStartTime: 987_654,
                    buildID: "",
                    maximumFrameSize: 1 << 20
                )
            )
        ),
        "welcome": Frame(.welcome(Welcome(buildID: "b1", maximumFrameSize: 1 << 20, heartbeatMilliseconds: 1000))),
        "ask": Frame(
            .ask(
                Ask(
                    target: 1,
                    sender: 2,
                    message: 3,
                    timeoutMicroseconds: 5_000_000,
                    trace: [0xAA, 0xBB],
                    payload: json(#"{"sku":"a"}"#)
                )
            ),
            correlation: 99,
            codec: .json,
            incarnation: 7
        ),
        "ask-acknowledged": Frame(
            .ask(
                Ask(
                    target: 1,
                    sender: 2,
                    message: 3,
                    timeoutMicroseconds: 5_000_000,
                    trace: [0xAA, 0xBB],
                    payload: json(#"{"sku":"a"}"#),
                    origin: 0x1234_5678_9ABC_DEF0,
                    since: 123_456_789
                )
            ),
            correlation: 99,
            codec: .json,
            flags: .acknowledged,
            incarnation: 7,
            sequence: 8,
            acknowledgement: 7
        ),
        "reply-success": Frame(.reply(.success(json("42"))), correlation: 99, codec: .json, incarnation: 7),
        "reply-failure": Frame(
            .reply(.failure(Failure(code: "unhandled", message: "nobody responds"))),
            correlation: 99,
            codec: .json
        ),
        "stream-item": Frame(.streamItem(json("1")), correlation: 99, codec: .json),
        "stream-end": Frame(.streamEnd(nil), correlation: 99),
        "stream-end-failure": Frame(
            .streamEnd(Failure(code: "", type: "ValueError", message: "außen", payload: json("{}"))),
            correlation: 99,
            codec: .json
        ),
        "send": Frame(.send(Send(target: 1, sender: 0, message: 3, payload: json("{}"))), codec: .json, flags: .direct),
        "ack": Frame(.ack, sequence: 5, acknowledgement: 9, epoch: 2),
        "cancel": Frame(.cancel, correlation: 99),
        "event": Frame(.event(Event(subject: 1, name: 4, payload: json("null"))), codec: .json, incarnation: 7),
        "subscribe": Frame(.subscribe(Subscribe(subject: 1, name: 4, isActive: true))),
        "start": Frame(
            .start(
                Start(path: "/shop/mailer", type: "Mailer", startTimeoutMilliseconds: 30_000, configuration: json(#"{"host":"h"}"#))
            ),
            correlation: 1,
            codec: .json,
            incarnation: 7
        ),
        "stop": Frame(.stop(Stop(target: 0, graceMilliseconds: 5000)), correlation: 6, incarnation: 7),
        "pause": Frame(.pause(Pause(target: 1, reason: 0))),
        "resume": Frame(.resume(Resume(target: 1, reason: 1))),
        "ready": Frame(.ready, correlation: 1, incarnation: 7),
        "finish": Frame(.finish(json(#""done""#)), codec: .json, incarnation: 7),
        "exited": Frame(.exited(Exited(reason: Exit(kind: .shutdown))), correlation: 6, incarnation: 7),
        "exited-signal": Frame(.exited(Exited(reason: Exit(kind: .signal, code: 9, message: "killed"))), correlation: 5),
        "dependency": Frame(.dependency(Dependency(name: 5, version: 3, payload: json(#"{"url":"x"}"#))), codec: .json),
        "inspect": Frame(
            .inspect(Inspect(target: 1, operation: "tree", payload: json("{}"))),
            correlation: 8,
            codec: .json
        ),
        "ping": Frame(.ping(Probe(timestampNanoseconds: 1_234_567_890_123, kind: .link))),
        "pong": Frame(.pong(Probe(timestampNanoseconds: 1_234_567_890_123, kind: .executor))),
        "credit": Frame(.credit(Credit(target: 0, messages: 16, bytes: 65_536))),
        "goodbye": Frame(.goodbye("stopped")),
        "part": Frame(.part(Part(.first, [0x3A, 0x00, 0x10, 0x00, 0x01, 0x03]))),
        "part-abandoned": Frame(.part(Part(.abandoned))),
        "define-name": Frame(.defineName(DefineName(id: 3, text: "Cart.Add"))),
        "directory": Frame(
            .directory(
                Directory(
                    distance: 2,
                    buildID: "b1",
                    isLast: true,
                    rows: [Directory.Row("Cart.Add"), Directory.Row("Cart.", [.intercepts, .prefix])]
                )
            )
        ),
    ]
}

/// Takes every frame out of a batch.
func decodeAll(_ batch: [UInt8], limits: FrameLimits = .default) throws(WireError) -> [Frame] {
    var decoder = FrameDecoder(batch, limits: limits)
    var frames: [Frame] = []
    while let frame = try decoder.next() {
        frames.append(frame)
    }
    return frames
}

/// Returns a batch of these frames.
func encodeAll(_ frames: [Frame]) -> [UInt8] {
    var batch: [UInt8] = []
    for frame in frames {
        FrameEncoder.append(frame, to: &batch)
    }
    return batch
}
