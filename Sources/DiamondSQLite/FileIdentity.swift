import Foundation

/// The device and the inode number of a file. No other existing file has both.
package struct FileIdentity: Equatable, Sendable {
    private var device: UInt64
    private var number: UInt64

    /// Creates the identity of the file at a path; `nil` if there is no file.
    package init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Creates the identity of an open file; `nil` if the descriptor is invalid.
    package init?(of descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    private init(_ status: stat) {
        device = UInt64(truncatingIfNeeded: status.st_dev)
        number = UInt64(truncatingIfNeeded: status.st_ino)
    }
}
