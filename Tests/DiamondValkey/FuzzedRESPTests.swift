#if Valkey
import DiamondTestSupport
import Testing

@Suite("The reader of RESP3") struct FuzzedRESPTests {
    /// Bytes from which a few make a value.
    private static let alphabet = Array("+-:$*~%>|=!#_,(;.?tfna0123456789\r\n\r\n\r\n\r\n: \u{E9}".utf8) + [0xFF, 0]

    /// `scripts/fuzz resp` does the same ten million times, in a release build.
    @Test(.limit(minutes: 30)) func `reads any bytes alike in one piece and in many`() throws {
        var random = SplitMix(state: Effort.seed)
        for _ in 0..<Effort.rounds(50_000, soaking: 1_000_000) {
            let input = (0..<random.below(60)).map { _ in Self.alphabet[random.below(Self.alphabet.count)] }
            let failure = FuzzedRESP.failure(of: input)
            try #require(failure == nil, "\(input), DIAMOND_SEED=\(Effort.seed)")
        }
    }
}
#endif
