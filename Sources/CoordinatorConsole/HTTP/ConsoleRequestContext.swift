import Hummingbird
import NIOCore

/// What comes with a request: its connection.
struct ConsoleRequestContext: InitializableFromSource {
    let channel: any Channel

    init(source: ApplicationRequestContextSource) { channel = source.channel }
}
