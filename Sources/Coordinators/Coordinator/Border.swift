import ConcurrencySupport
import Synchronization
import WireProtocol

/// The border of a coordinator that stands for a worker in a test: messages cross it in their encoded form, as they would between processes.
final class Border: Sendable {
    private static let codec = PayloadCodec.compact

    private let path: CoordinatorPath
    private let isLost = Atomic(false)
    private let delayLine: DelayLine

    init(of path: CoordinatorPath, _ time: TimeSource) { (self.path, delayLine) = (path, DelayLine(time)) }

    /// Loses or restores the link that the border stands for.
    func lose(_ isLost: Bool) { self.isLost.store(isLost, ordering: .relaxed) }

    /// Delays every message that crosses from now on; `nil`: no more.
    func delay(by delay: Duration?) { delayLine.delay(by: delay) }

    /// Takes a message across, and its answer back.
    func cross(_ envelope: Envelope, _ onward: @escaping @Sendable (Envelope) -> Void) {
        if envelope.isBuiltin { return onward(envelope) }
        if isLost.load(ordering: .relaxed) {
            let message = "the link of \(path) is lost, because the test says so"
            return envelope.end(.failure(CoordinatorError(.peerLost, message, maybeExecuted: false)))
        }
        do throws(CoordinatorError) {
            let inner = try encoded(envelope)
            // As on a link: from here on only the other side knows.
            guard envelope.beginHandling() else { return }
            envelope.work(.function { inner.cancel() })
            guard delayLine.isInUse else { return onward(inner) }
            delayLine.pass { onward(inner) }
        } catch {
            envelope.end(.failure(error))
        }
    }

    /// Returns an answer or an event as the other side gets it.
    func crossed(_ answer: Answer, of name: String, as codec: PayloadCodec = Border.codec) throws(CoordinatorError) -> Answer {
        guard case .value(let value) = answer else { return answer }
        do throws(CoordinatorError) {
            return .encoded(codec, try PayloadCoder.encode(value, as: codec))
        } catch {
            throw cannotCross("\(name)", error)
        }
    }

    /// Returns a configuration as the coordinator gets it.
    static func crossed(_ value: ConfigurationValue, to path: CoordinatorPath) throws(CoordinatorError) -> ConfigurationValue {
        do throws(CoordinatorError) {
            let (codec, bytes, isComplete) = try value.encoded(as: codec)
            return .encoded(codec, bytes, isComplete: isComplete)
        } catch {
            throw CoordinatorError(.coding, "the configuration of \(path) can't cross to a worker: \(error.message)")
        }
    }

    private func encoded(_ envelope: Envelope) throws(CoordinatorError) -> Envelope {
        let body = try crossed(envelope.body)
        let name = envelope.body.name
        // Replies are encoded as their ask is.
        let codec = if case .encoded(_, let codec, _) = body { codec } else { Self.codec }
        let flow = envelope.flow.map { flow in
            ReplyFlow({ try flow.pass(self.crossed($0, of: "a reply to \(name)", as: codec)) }, accepted: { flow.accept() })
        }
        let inner = Envelope(
            body,
            asker: .function { envelope.complete(self.crossed($0, of: "the reply to \(name)", as: codec)) },
            sender: envelope.sender,
            deadline: envelope.deadline,
            trace: envelope.trace,
            isOneWay: envelope.isOneWay,
            flow: flow,
            delivery: envelope.delivery,
            lingers: envelope.lingers
        )
        if let flow { envelope.flow?.relayGrants(to: flow) }
        return inner
    }

    private func crossed(_ body: Envelope.Body) throws(CoordinatorError) -> Envelope.Body {
        guard case .value(let message) = body else { return body }
        do throws(CoordinatorError) {
            return .encoded(name: body.wireName, Self.codec, Payload(try PayloadCoder.encode(message, as: Self.codec)))
        } catch {
            throw cannotCross(body.name, error)
        }
    }

    private func crossed(_ result: Result<Answer, any Error>, of name: String, as codec: PayloadCodec) -> Result<Answer, any Error> {
        switch result {
        case .success(let answer): Result { try crossed(answer, of: name, as: codec) }.mapError { Failures.thrownByHandler($0) }
        case .failure(let error): .failure(Failures.decode(Failures.encode(error, codec: codec), codec: codec))
        }
    }

    private func cannotCross(_ what: String, _ error: CoordinatorError) -> CoordinatorError {
        CoordinatorError(.coding, "\(what) can't cross between \(path) and its parent's process: \(error.message)")
    }
}
