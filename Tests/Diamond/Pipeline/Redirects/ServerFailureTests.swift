import Testing

@testable import Diamond

@Suite("The failure of a server") struct ServerFailureTests {
    @Test(arguments: [
        (CachePolicy.Mode.automatic, 200, false), (.automatic, 404, false), (.automatic, 501, false),
        (.automatic, 503, true), (.networkElseCache, 200, true), (.networkElseCache, 503, true),
        (.reload, 503, false), (.noStore, 503, false),
    ])
    func `may be replaced by a stored response if the policy allows it`(
        mode: CachePolicy.Mode,
        status: Int,
        mayReplace: Bool
    ) {
        let response = Response(status: .init(code: status), url: "http://h/")
        #expect(mode.mayReplace(.success(response)) == mayReplace)
        #expect(mode.mayReplace(.failure(.cancelled)) == mode.mayFallBack)
    }
}
