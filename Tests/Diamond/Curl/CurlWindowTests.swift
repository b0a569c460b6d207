#if Curl && os(Linux)
import Testing

@testable import Diamond

@Suite("The window of a body over libcurl") struct CurlWindowTests {
    @Test(arguments: [(0, 1 << 20), (1, 1 << 20), (16, 1 << 20), (64, 256 << 10), (256, 64 << 10), (10_000, 64 << 10)])
    func `shrinks with the number of transfers, and grows again`(count: Int, size: Int) {
        let window = CurlWindow()
        window.share(among: 10_000)
        window.share(among: count)
        #expect(window.size == size)
    }
}
#endif
