import ConcurrencySupport
import Control
import Coordinators
import Glibc
import WireProtocol

/// The end of an upgrade, in the program that has taken the daemon's place: operators are served again, and the one who has asked is answered.
final class UpgradeCompletion: Sendable {
    /// The time for which the children that live on are awaited before operators are served.
    private static let limit = Duration.seconds(10)

    /// Whether a signal that the former daemon has received has asked for the file to be applied.
    let isReloadWaiting: Bool
    private let request: DaemonHandover.Request
    private let kept: [String]
    private let server: ControlServer
    private let runtime: CoordinatorRuntime
    private let marker: UpgradeMarker
    private let answer: (@Sendable (Result<JSONValue, ControlError>) -> Void)?

    init(_ handover: DaemonHandover, _ server: ControlServer, _ runtime: CoordinatorRuntime, _ marker: UpgradeMarker) {
        isReloadWaiting = handover.isReloadWaiting == true
        request = handover.request
        kept = request.result.kept
        self.server = server
        self.runtime = runtime
        self.marker = marker
        let operation = ControlOperation.upgrade(
            executable: request.executable,
            wait: .milliseconds(request.waitMilliseconds),
            isDryRun: false
        )
        answer = request.id.map { server.expect(operation, requestID: $0) }
    }

    /// The reason that the event of the daemon's start gives.
    var reason: String { "\(Release.version), in place of \(request.result.formerVersion)" }

    /// Serves operators again, once the children that live on are back.
    func conclude() async {
        let deadline = ContinuousClock.now + Self.limit
        while ContinuousClock.now < deadline, await !areBack { try? await Task.sleep(for: .milliseconds(5)) }
        marker.remove()
        server.resume()
        var result = request.result
        let now = Timestamp.nowMicroseconds
        result.version = Release.version
        result.durationMilliseconds = (now - request.began) / 1000
        result.pauseMilliseconds = (now - request.paused) / 1000
        do throws(ControlError) {
            answer?(.success(try ControlJSON.value(of: result)))
        } catch {
            answer?(.failure(error))
        }
    }

    private var areBack: Bool {
        get async {
            guard let tree = try? await runtime.snapshot() else { return false }
            var states: [String: CoordinatorState] = [:]
            func visit(_ node: CoordinatorSnapshot) {
                states[node.path.description] = node.state
                for child in node.children { visit(child) }
            }
            visit(tree)
            // One that is restarting after a failure isn't waited for.
            return kept.allSatisfy { states[$0] != nil && states[$0] != .starting }
        }
    }
}
