import ConcurrencySupport
import Glibc
import Testing

/// A file system that never answers: a process that looks up a name in it waits in the kernel, and can't even be killed, as with a server of
/// NFS that is gone.
///
/// It's a file system of FUSE whose requests are read and left at that. The kernel answers them all with an error once the file system goes.
public final class HangingFileSystem: Sendable {
    /// Whether the tests may mount one.
    public static let isAvailable = geteuid() == 0 && access("/dev/fuse", R_OK | W_OK) == 0

    private let directory: TemporaryDirectory

    /// The directory at which it's mounted; looking for anything in it hangs.
    public var path: String { directory.path }

    public init() throws {
        directory = try TemporaryDirectory()
        let device = open("/dev/fuse", O_RDWR | O_CLOEXEC)
        try #require(device >= 0, "no device for file systems")
        let options = "fd=\(device),rootmode=40000,user_id=0,group_id=0,allow_other"
        let isMounted = mount("hanging", directory.path, "fuse", UInt(MS_NOSUID | MS_NODEV), options) == 0
        let serves = isMounted && DetachedThread.run { Self.serve(device) }
        if !serves { close(device) }
        try #require(serves, "the file system can't be mounted")
    }

    deinit { umount2(directory.path, Int32(MNT_FORCE) | Int32(MNT_DETACH)) }

    /// Answers the first request, by which the kernel asks what the file system can do, and reads all others until the file system is gone.
    private static func serve(_ device: Int32) {
        var request = [UInt8](repeating: 0, count: 1 << 17)
        var hasBegun = false
        while true {
            let count = read(device, &request, request.count)
            if count < 0, errno == EINTR || errno == ENOENT { continue }
            guard count > 0 else { break }
            if hasBegun { continue }
            hasBegun = true
            // struct fuse_out_header, with the request's number, and struct fuse_init_out: version 7.31, no abilities.
            var answer = [UInt8](repeating: 0, count: 80)
            answer[0] = 80
            answer.replaceSubrange(8..<16, with: request[8..<16])
            (answer[16], answer[20]) = (7, 31)
            // The size of a write.
            answer[37] = 16
            _ = write(device, answer, answer.count)
        }
        close(device)
    }
}
