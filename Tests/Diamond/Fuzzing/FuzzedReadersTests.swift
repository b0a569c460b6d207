import DiamondTestSupport
import Foundation
import Testing

/// Inputs with which libFuzzer found paths through the parsers, and random changes of them.
@Suite("A parser of outside text") struct FuzzedReadersTests {
    private static let inputs: [[UInt8]] = {
        let folder = Fixture.directory.appending(path: "Fuzz")
        let files = try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        return (files ?? []).sorted { $0.path < $1.path }.compactMap { try? Array(Data(contentsOf: $0)) }
    }()

    @Test func `reads an accepted value back from its written form, for any input`() {
        #expect(Self.inputs.count > 50)
        for input in Self.inputs {
            let failure = FuzzedReaders.failure(of: input)
            #expect(failure == nil, "\(input)")
        }
    }

    @Test(.limit(minutes: 30))
    func `reads an accepted value back, for inputs changed at random`() throws {
        var changes = try #require(InputChanges(of: Self.inputs, random: SplitMix(state: Effort.seed)))
        for _ in 0..<Effort.rounds(20_000, soaking: 5_000_000) {
            let input = changes.next()
            let failure = FuzzedReaders.failure(of: input)
            try #require(failure == nil, "\(input), DIAMOND_SEED=\(Effort.seed)")
        }
    }

    // `scripts/fuzz scanner` tries ten million inputs.
    @Test(.limit(minutes: 30))
    func `of JSON reads what a plain reader reads, for inputs changed at random`() throws {
        // The first byte of an input chooses JSON.
        let inputs = Self.inputs.filter { $0.first.map { $0 % 4 == 1 } == true }
        var changes = try #require(InputChanges(of: inputs, random: SplitMix(state: Effort.seed)))
        var scanner = FuzzedScanner(capacity: 1 << 16)
        for _ in 0..<Effort.rounds(5000, soaking: 1_000_000) {
            let input = changes.next()
            let failure = input.withUnsafeBytes { scanner.failure(of: $0) }
            try #require(failure == nil, "\(failure ?? "") \(input), DIAMOND_SEED=\(Effort.seed)")
        }
    }
}

/// Inputs derived from others, as a fuzzer does it: bytes changed, repeated, removed, and two inputs joined.
private struct InputChanges {
    private let inputs: [[UInt8]]
    private var random: SplitMix
    /// Bytes with a meaning to one of the parsers.
    private static let special =
        Array("\"\\{}[]:,%&=?#/.+-'$`;@ eE0\t\n\0\u{7F}\u{301}\u{FEFF}".utf8) + [0x80, 0xC0, 0xED, 0xFF]

    /// `nil` where there is nothing to change.
    init?(of inputs: [[UInt8]], random: SplitMix) {
        let inputs = inputs.filter { $0.count > 1 }
        guard !inputs.isEmpty else { return nil }
        self.inputs = inputs
        self.random = random
    }

    mutating func next() -> [UInt8] {
        var input = inputs[random.below(inputs.count)]
        for _ in 0...random.below(4) { change(&input) }
        return input
    }

    private mutating func change(_ input: inout [UInt8]) {
        // The first byte selects the parser, and stays.
        let place = 1 + random.below(max(1, input.count - 1))
        let end = min(input.count, place + 1 + random.below(8))
        guard place < end else { return input.append(random.byte()) }
        switch random.below(6) {
        case 0: input[place] ^= 1 << UInt8(random.below(8))
        case 1: input[place] = Self.special[random.below(Self.special.count)]
        case 2: input.insert(Self.special[random.below(Self.special.count)], at: place)
        case 3: input.removeSubrange(place..<end)
        case 4: input.insert(contentsOf: input[place..<end], at: 1 + random.below(input.count))
        default: splice(into: &input, at: place)
        }
    }

    /// Continues with the rest of another input.
    private mutating func splice(into input: inout [UInt8], at place: Int) {
        let other = inputs[random.below(inputs.count)]
        input.replaceSubrange(place..., with: other[(1 + random.below(other.count - 1))...])
    }
}

extension SplitMix {
    fileprivate mutating func byte() -> UInt8 { UInt8(truncatingIfNeeded: next()) }
}
