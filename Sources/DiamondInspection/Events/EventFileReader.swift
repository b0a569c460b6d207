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
    /// The beginning of a line whose end is not in the file yet.
    private var beginning: [UInt8] = []

    /// Creates a reader of the events from now on. No file has to exist.
    ///
    /// - Parameters:
    ///   - directory: the store's directory (``Store/directory``).
    ///   - includesEarlier: whether the first ``read()`` returns the events that are in the files already.
    package init(directory: URL, includesEarlier: Bool = false) {
        store = Store(directory: directory)
        if includesEarlier {
            file = Self.open(store.olderEventPath) ?? Self.open(store.eventPath)
        } else {
            file = Self.open(store.eventPath) ?? Self.open(store.olderEventPath)
            _ = try? file?.seekToEnd()
        }
    }

    /// Whether a program has recorded events, as of the last read.
    package var hasFile: Bool { file != nil }

    /// Returns the events since the last call, in the order of the file. Lines that are no events are skipped.
    ///
    /// Takes time in proportion to their number. A file that cannot be read has no events.
    package mutating func read() -> [RecordedEvent] { lines().compactMap { RecordedEvent(line: $0) } }

    /// Returns the last events, in the order of the file.
    package static func last(_ count: Int, in directory: URL) -> [RecordedEvent] {
        var reader = EventFileReader(directory: directory, includesEarlier: true)
        return reader.lines().suffix(count).compactMap { RecordedEvent(line: $0) }
    }

    // MARK: Lines

    private mutating func lines() -> [ArraySlice<UInt8>] {
        // A file is renamed after its last line: what replaces it is looked up before it is read to its end.
        var lines: [ArraySlice<UInt8>] = []
        let next = successors()
        lines += rest()
        for successor in next {
            file = successor
            beginning = []
            lines += rest()
        }
        return lines
    }

    /// Opens the files that follow the current one.
    private func successors() -> [FileHandle] {
        guard let newest = Self.open(store.eventPath), !Self.isSame(newest, as: file) else { return [] }
        guard let older = Self.open(store.olderEventPath), !Self.isSame(older, as: file),
            !Self.isSame(older, as: newest)
        else { return [newest] }
        return [older, newest]
    }

    private static func isSame(_ file: FileHandle, as other: FileHandle?) -> Bool {
        guard let other else { return false }
        return FileIdentity(of: file.fileDescriptor) == FileIdentity(of: other.fileDescriptor)
    }

    private static func open(_ path: String) -> FileHandle? {
        (try? PrivateFile.open(path, access: O_RDONLY)).map { FileHandle(fileDescriptor: $0, closeOnDealloc: true) }
    }

    /// Reads the whole lines from the current position to the end.
    private mutating func rest() -> [ArraySlice<UInt8>] {
        let bytes = beginning + unread()
        guard let end = bytes.lastIndex(of: UInt8(ascii: "\n")) else {
            beginning = bytes
            return []
        }
        beginning = Array(bytes[(end + 1)...])
        return bytes[..<end].split(separator: UInt8(ascii: "\n"))
    }

    private mutating func unread() -> [UInt8] {
        guard let file else { return [] }
        var size = stat()
        if fstat(file.fileDescriptor, &size) == 0, UInt64(size.st_size) < (try? file.offset()) ?? 0 {
            // The file was truncated.
            try? file.seek(toOffset: 0)
            beginning = []
        }
        return [UInt8]((try? file.readToEnd()) ?? Data())
    }
}
