import Diamond
import DiamondTestSupport
import Foundation
import Testing

@testable import DiamondModel

/// The texts of objects share memory, and keep their bytes.
@Suite("Kept texts") struct KeptTextTests {
    /// Returns a part of bytes.
    private func part(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes[range])
    }

    @Test func `texts of any length are kept with their bytes`() {
        var random = SplitMix(state: Effort.seed)
        var texts = TextKeeper()
        var kept: [(KeptText, [UInt8])] = []
        for _ in 0..<300 {
            let length = random.below(random.below(10) == 0 ? 20_000 : 300)
            let bytes = (0..<length).map { _ in UInt8(random.below(256)) }
            kept.append((bytes.withUnsafeBytes { texts.keep($0) }, bytes))
        }
        #expect(kept.allSatisfy { text, bytes in bytes.withUnsafeBytes(text.hasSameBytes) })
    }

    @Test func `small texts share memory, of which the first one needs no more than its own`() {
        var texts = TextKeeper()
        let bytes = [UInt8](repeating: 7, count: 20_000)
        let sizes = bytes.withUnsafeBytes { bytes in
            (0..<200).map { texts.keep(part(bytes, $0 * 100..<$0 * 100 + 100)).memorySize }
        }
        #expect(sizes[0] == 100 && sizes[199] == 4096)
    }

    @Test func `a nested object shares the text of its owner, unless that is much longer`() {
        var texts = TextKeeper()
        let text = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
        text.withUnsafeBytes { bytes in
            #expect(texts.keep(bytes).memorySize == 100_000)
            for (range, size) in [
                (1..<60_000, 100_000), (2..<50_000, 100_000), (3..<10_003, 10_000), (3..<9_000, 10_000),
                (60_000..<60_100, 100), (70_000..<99_000, 100_000),
            ] {
                let kept = texts.keep(part(bytes, range))
                #expect(kept.memorySize == size && kept.hasSameBytes(as: part(bytes, range)), "\(range)")
            }
        }
    }

    @Test func `a text at the place of an earlier one has its own bytes`() {
        var texts = TextKeeper()
        var text = [UInt8](repeating: 7, count: 10_000)
        text.withUnsafeMutableBytes { bytes in
            let old = texts.keep(UnsafeRawBufferPointer(bytes))
            bytes[100] = 8
            let range = 50..<9_000
            let new = texts.keep(part(UnsafeRawBufferPointer(bytes), range))
            #expect(new.hasSameBytes(as: part(UnsafeRawBufferPointer(bytes), range)) && new.memorySize < 10_000)
            #expect(!old.hasSameBytes(as: UnsafeRawBufferPointer(bytes)))
        }
    }

    @Test(arguments: [true, false])
    func `the objects of a deep tree keep one text`(hasContext: Bool) throws {
        let depth = 100
        let text = (0..<depth).reduce("null") { inner, level in
            "{\"id\":\(depth - level),\"text\":\"\(String(repeating: "x", count: 1000))\",\"quoted\":\(inner)}"
        }
        let quote =
            try hasContext ? ModelContext().model(Quote.self, from: Data(text.utf8)) : Quote(json: Data(text.utf8))
        var sizes: Set<Int> = []
        var next: Quote? = quote
        while let model = next {
            let members = model.tracking.members
            try sizes.insert(#require(members).memorySize)
            next = model.quoted
        }
        // The text of every second level or so is shorter than a quarter of an earlier one.
        #expect(sizes.count <= 6 && sizes.max() == text.utf8.count)
    }
}

/// A model that quotes others of its class.
private final class Quote: Model {
    static let id: Property<Quote, Int> = Property(\.id, "id", access: .server)
    static let text: Property<Quote, String> = Property(\.text, "text")
    static let quoted: Property<Quote, Quote?> = Property(nullable: \.quoted, "quoted")

    private var _id = 0
    private var _text = ""
    private var _quoted: Quote?

    var id: Int { read(Self.id, from: _id) }

    var text: String {
        get { read(Self.text, from: _text) }
        set { write(Self.text, from: _text, to: newValue) { _text = $0 } }
    }

    var quoted: Quote? {
        get { read(Self.quoted, from: _quoted) }
        set { write(Self.quoted, from: _quoted, to: newValue) { _quoted = $0 } }
    }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _id = visitor.visit(Self.id, with: _id)
        _text = visitor.visit(Self.text, with: _text)
        _quoted = visitor.visit(Self.quoted, with: _quoted)
    }
}
