import Diamond
import Foundation

/// The text of an object, in memory that it may share with the texts of other objects.
struct KeptText: Sendable {
    /// The memory of texts. Those that were written do not change.
    ///
    /// `@unchecked Sendable`, because only the `TextKeeper` that has created it writes more texts, behind the others.
    fileprivate final class Block: @unchecked Sendable {
        let bytes: UnsafeMutableRawBufferPointer

        init(size: Int) { bytes = .allocate(byteCount: size, alignment: 1) }

        deinit { bytes.deallocate() }
    }

    fileprivate let block: Block
    /// A text has at most 1 GiB.
    fileprivate let start: UInt32
    fileprivate let end: UInt32

    var count: Int { Int(end - start) }

    /// The size of the memory in which the text is kept.
    var memorySize: Int { block.bytes.count }

    /// Calls `body` with the bytes.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        withExtendedLifetime(block) {
            body(UnsafeRawBufferPointer(rebasing: block.bytes[Int(start)..<Int(end)]))
        }
    }

    /// Returns whether the text has the same bytes as another one.
    func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
        count == other.count
            && withBytes { own in
                guard let own = own.baseAddress, let other = other.baseAddress else { return true }
                return memcmp(own, other, count) == 0
            }
    }
}

/// Keeps the texts of the objects that are read.
///
/// Small texts share blocks of memory. The text of a nested object is a part of its owner's.
struct TextKeeper {
    /// The size of a block of small texts. As much may be kept for the last one of its objects.
    private static let blockSize = 4096
    /// A nested object shares the text of its owner if it has at least this part of it. So a small one does not keep a
    /// large text, and nested ones do not multiply it.
    private static let leastPart = 4

    private var block: KeptText.Block?
    /// The number of used bytes of the block.
    private var used = 0
    /// The objects that may contain the next one, the outermost first, with their places in the text that is read.
    private var owners: [(source: Range<UnsafeRawPointer>, text: KeptText)] = []

    /// Returns a text that is kept.
    mutating func keep(_ text: UnsafeRawBufferPointer) -> KeptText {
        guard let start = text.baseAddress else { return append(text) }
        let source = start..<(start + text.count)
        while let owner = owners.last, !owner.source.contains(source) { owners.removeLast() }
        if let owner = owners.last, let part = owner.text.part(at: start - owner.source.lowerBound, equalTo: text),
            part.memorySize <= max(Self.blockSize, text.count * Self.leastPart)
        {
            return part
        }
        let kept = append(text)
        owners.append((source, kept))
        return kept
    }

    /// Forgets the objects that may contain others.
    mutating func removeOwners() { owners.removeAll(keepingCapacity: true) }

    private mutating func append(_ text: UnsafeRawBufferPointer) -> KeptText {
        if text.count > Self.blockSize {
            let own = KeptText.Block(size: text.count)
            return own.write(text, at: 0)
        }
        var block = block
        if block.map({ $0.bytes.count - used < text.count }) ?? true {
            // The first objects of a context may be the only ones.
            let size = max(text.count, min(Self.blockSize, 2 * (block?.bytes.count ?? 0)))
            block = KeptText.Block(size: size)
            self.block = block
            used = 0
        }
        guard let block else { return append(text) }
        defer { used += text.count }
        return block.write(text, at: used)
    }
}

extension KeptText.Block {
    fileprivate func write(_ text: UnsafeRawBufferPointer, at place: Int) -> KeptText {
        UnsafeMutableRawBufferPointer(rebasing: bytes[place...]).copyMemory(from: text)
        return KeptText(block: self, start: UInt32(place), end: UInt32(place + text.count))
    }
}

extension KeptText {
    /// Returns a part of the text; `nil` if it has other bytes.
    fileprivate func part(at offset: Int, equalTo text: UnsafeRawBufferPointer) -> KeptText? {
        let start = start + UInt32(offset)
        let part = KeptText(block: block, start: start, end: start + UInt32(text.count))
        return part.hasSameBytes(as: text) ? part : nil
    }
}

extension Range<UnsafeRawPointer> {
    fileprivate func contains(_ other: Range) -> Bool {
        lowerBound <= other.lowerBound && other.upperBound <= upperBound
    }
}
