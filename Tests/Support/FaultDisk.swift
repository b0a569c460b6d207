import CFaultDisk
package import Foundation

/// A disk that fails when a test says so: a named SQLite VFS for the files of one directory.
///
/// Every call of SQLite on these files is counted. Unsynced writes are lost with the power.
/// No data is really synced, which makes it faster than the disk below.
///
/// `@unchecked Sendable`: the pointer never changes, and what it points at has its own lock.
package final class FaultDisk: @unchecked Sendable {
    /// The kinds of faults. Each fault fits some kinds of calls, and counts only those.
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
        /// This call and all later ones fail without effect, until ``cutPower(seed:)`` has discarded unsynced writes.
        case powerLoss

        /// The faults that leave the process alive.
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

    /// Creates a disk for all files in a directory, which need not exist yet.
    package init(directory: URL) {
        guard let disk = fault_disk_make(vfs, directory.path) else { fatalError("SQLite does not start") }
        self.disk = disk
    }

    deinit { fault_disk_free(disk) }

    /// Makes the `call`th call from now that the fault fits fail; with `lasting`, also all later calls that it fits.
    package func fail(_ fault: Fault, atCall call: Int, lasting: Bool = false) {
        fault_disk_fail(disk, fault.code, Int64(call), lasting)
    }

    /// Limits the bytes of all files in the directory, as a small disk does; 0 for no limit.
    package func bound(_ bytes: Int) { fault_disk_bound(disk, Int64(bytes)) }

    /// Ends all faults.
    package func heal() { fault_disk_fail(disk, FAULT_DISK_NONE, 0, false) }

    /// The number of calls so far, failed ones included.
    package var calls: Int { Int(fault_disk_calls(disk, FAULT_DISK_NONE)) }

    /// Returns the number of calls so far that a fault fits.
    package func calls(fitting fault: Fault) -> Int { Int(fault_disk_calls(disk, fault.code)) }

    /// The number of calls that have failed by the last ``fail(_:atCall:lasting:)``.
    package var failures: Int { Int(fault_disk_failures(disk)) }

    /// The largest size of a write-ahead log, in bytes.
    package var longestLog: Int { Int(fault_disk_longest_log(disk)) }

    /// Removes unsynced writes from the files, and restores the power.
    ///
    /// Without a seed, all of them are lost. With a seed, any of the 512-byte sectors of each write may be kept. Every
    /// file must be closed.
    package func cutPower(seed: UInt64? = nil) throws {
        guard fault_disk_restart(disk, seed != nil, seed ?? 0) else { throw StillOpen() }
    }

    /// Returns when all files are closed. It never blocks its thread, because the closing code may need the thread.
    package func closed() async { await untilTrue { isClosed } }

    package var isClosed: Bool { fault_disk_is_closed(disk) }
}
