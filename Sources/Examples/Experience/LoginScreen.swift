import Coordinators
import Synchronization

/// The login's screen, with its one text field.
final class LoginScreen: Scene {
    private let life = ScreenLife()
    private let text = Mutex("")

    /// The content of the text field.
    var email: String {
        get { text.withLock { $0 } }
        set { text.withLock { $0 = newValue } }
    }

    func close() async { life.end() }
    func waitUntilClosed() async { await life.ended() }
}
