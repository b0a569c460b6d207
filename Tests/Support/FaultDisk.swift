import CFaultDisk
package import Foundation

/// A disk that fails when a test says so: a SQLite VFS, by its name, for the files of one directory.
///
/// Every call of SQLite on these files is counted. What is written without being synced is lost with the power.
/// Nothing is really synced, which makes it faster than the disk below.
///
/// `@unchecked Sendable`: the pointer never changes, and what it points at has its own lock.
package final class FaultDisk: @unchecked Sendable {
    /// What can go wrong. Each fault fits some kinds of calls, and counts only those.
    package enum Fault: Sendable, CaseIterable {
        /// No space is left for a write, a new file, or more of the shared memory.
        case full
        case readError
        case writeError
        case syncError
        case lockError
        /// Half the bytes arrive, then there is an error.
        case shortWrite
        /// Half the bytes arrive, then no space is left.
        case shortWriteFull
        /// This call and all after it fail without effect, until ``cutPower(seed:)`` has shown what is left.
        case powerLoss

        /// Those that leave the process alive.
        package static let survivable = allCases.filter { $0 != .powerLoss }

        fileprivate var code: fault_disk_fault {
            switch self {
            case .full: FAULT_DISK_FULL
            case .readError: FAULT_DISK_READ_ERROR
            case .writeError: FAULT_DISK_WRITE_ERROR
            case .syncError: FAULT_DISK_SYNC_ERROR
            case .lockError: FAULT_DISK_LOCK_ERROR
            case .shortWrite: FAULT_DISK_SHORT_WRITE
            case .shortWriteFull: FAULT_DISK_SHORT_FULL
            case .powerLoss: FAULT_DISK_POWER_LOSS
            }
        }
    }

    package struct StillOpen: Error { package init() {} }

    /// The name of the VFS.
    package let vfs = "diamond-fault-disk-\(UUID().uuidString)"
    private let disk: OpaquePointer

    /// A disk under all files in a directory, which need not be there yet.
    package init(directory: URL) {
        guard let disk = fault_disk_make(vfs, directory.path) else { fatalError("SQLite does not start") }
        self.disk = disk
    }

    deinit { fault_disk_free(disk) }

    /// Lets a call fail, the `call`th from now of those that the fault fits; with `lasting`, all later ones too.
    package func fail(_ fault: Fault, atCall call: Int, lasting: Bool = false) {
        fault_disk_fail(disk, fault.code, Int64(call), lasting)
    }

    /// Bounds the bytes of all files in the directory, as a small disk does; 0 for no bound.
    package func bound(_ bytes: Int) { fault_disk_bound(disk, Int64(bytes)) }

    /// Nothing fails from now on.
    package func heal() { fault_disk_fail(disk, FAULT_DISK_NONE, 0, false) }

    /// The calls so far, failed ones included.
    package var calls: Int { Int(fault_disk_calls(disk, FAULT_DISK_NONE)) }

    /// The calls so far that a fault fits.
    package func calls(fitting fault: Fault) -> Int { Int(fault_disk_calls(disk, fault.code)) }

    /// The calls that have failed by the last ``fail(_:atCall:lasting:)``.
    package var failures: Int { Int(fault_disk_failures(disk)) }

    /// The most bytes that a write-ahead log has had.
    package var longestLog: Int { Int(fault_disk_longest_log(disk)) }

    /// Takes what was written and not synced out of the files, and gives the power back.
    ///
    /// Without a seed all of it is lost. With one, some of it has arrived: of each write, any of its sectors of 512
    /// bytes. Every file must have been closed.
    package func cutPower(seed: UInt64? = nil) throws {
        guard fault_disk_restart(disk, seed != nil, seed ?? 0) else { throw StillOpen() }
    }

    /// Returns when all files are closed. Never holds its thread: what closes them may need it.
    package func closed() async { await untilTrue { isClosed } }

    package var isClosed: Bool { fault_disk_is_closed(disk) }
}
