package import Diamond
import DiamondSQLite
package import Foundation

/// A reader of the events that the programs of a store record, while they record them.
///
/// It follows the file when it is full and replaced by a new one. A file is read to its end, also after its removal.
package struct EventFileReader: Sendable {
    private let store: Store
    /// The file that is being read; `nil` while there is none.
    private var file: FileHandle?
    /// The end of the last line that was read. A line without an end is read again: on a full disk its writer removes
    /// it.
    private var position: UInt64 = 0
    /// The error of a file that could not be opened, as of the last read; `nil` if there is none.
    package private(set) var error: CacheError?

    /// Creates a reader of the events from now on. No file has to exist.
    ///
    /// - Parameters:
    ///   - directory: the store's directory (``Store/directory``).
    ///   - includesEarlier: whether the first ``read()`` returns the events that are in the files already.
    package init(directory: URL, includesEarlier: Bool = false) {
        store = Store(directory: directory)
        if includesEarlier {
            file = open(store.olderEventPath) ?? open(store.eventPath)
        } else {
            file = open(store.eventPath) ?? open(store.olderEventPath)
            // Read, because the last line may have no end.
            _ = rest()
        }
    }

    /// Whether a program has recorded events, as of the last read.
    package var hasFile: Bool { file != nil }

    /// Returns the events since the last call, in the order of the file. Lines that are no events are skipped.
    ///
    /// Takes time in proportion to their number. A file that cannot be read has no events, and ``error`` says why.
    ///
    /// - Parameter limit: the number of lines that are not skipped, the last ones.
    package mutating func read(last limit: Int = .max) -> [RecordedEvent] {
        lines().suffix(limit).compactMap { RecordedEvent(line: $0) }
    }

    /// Returns the last events, in the order of the file.
    package static func last(_ count: Int, in directory: URL) -> [RecordedEvent] {
        var reader = EventFileReader(directory: directory, includesEarlier: true)
        return reader.read(last: count)
    }

    // MARK: Lines

    private mutating func lines() -> [ArraySlice<UInt8>] {
        // A file is renamed after its last line: what replaces it is looked up before it is read to its end.
        var lines: [ArraySlice<UInt8>] = []
        error = nil
        let next = successors()
        lines += rest()
        for successor in next {
            file = successor
            position = 0
            lines += rest()
        }
        return lines
    }

    /// Opens the files that follow the current one.
    private mutating func successors() -> [FileHandle] {
        guard let newest = open(store.eventPath), !Self.isSame(newest, as: file) else { return [] }
        guard let older = open(store.olderEventPath), !Self.isSame(older, as: file),
            !Self.isSame(older, as: newest)
        else { return [newest] }
        return [older, newest]
    }

    private static func isSame(_ file: FileHandle, as other: FileHandle?) -> Bool {
        guard let other else { return false }
        return FileIdentity(of: file.fileDescriptor) == FileIdentity(of: other.fileDescriptor)
    }

    /// Opens a file; `nil` if there is none, or it cannot be opened.
    private mutating func open(_ path: String) -> FileHandle? {
        do throws(SQLiteError) {
            return FileHandle(fileDescriptor: try PrivateFile.open(path, access: O_RDONLY), closeOnDealloc: true)
        } catch {
            var status = stat()
            let isMissing = lstat(path, &status) != 0 && errno == ENOENT
            if !isMissing { self.error = CacheError(error) }
            return nil
        }
    }

    /// Reads the whole lines from the current position to the end.
    private mutating func rest() -> [ArraySlice<UInt8>] {
        let bytes = unread()
        guard let end = bytes.lastIndex(of: UInt8(ascii: "\n")) else { return [] }
        position += UInt64(end) + 1
        return bytes[..<end].split(separator: UInt8(ascii: "\n"))
    }

    private mutating func unread() -> [UInt8] {
        guard let file, let size = try? file.seekToEnd() else { return [] }
        // The file was truncated.
        if size < position { position = 0 }
        guard (try? file.seek(toOffset: position)) != nil else { return [] }
        return [UInt8]((try? file.readToEnd()) ?? Data())
    }
}
