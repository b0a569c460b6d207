import HTTPTypes
import Testing

@testable import Diamond

@Suite("RFC 9211 section 2") struct CacheStatusFieldTests {
    private static func status(_ change: (inout CacheStatus) -> Void) -> CacheStatus {
        var status = CacheStatus()
        change(&status)
        return status
    }

    @Test(
        arguments: [
            (status { ($0.isHit, $0.timeToLive) = (true, 30) }, "Diamond; hit; ttl=30"),
            (status { ($0.isHit, $0.timeToLive) = (true, -5) }, "Diamond; hit; ttl=-5"),
            (status { $0.forwardReason = .uriMiss }, "Diamond; fwd=uri-miss"),
            (
                status { ($0.forwardReason, $0.forwardStatus, $0.isCollapsed) = (.stale, 304, true) },
                "Diamond; fwd=stale; fwd-status=304; collapsed"
            ),
            (
                status { ($0.forwardReason, $0.timeToLive, $0.isStored) = (.varyMiss, .max, true) },
                "Diamond; fwd=vary-miss; ttl=2147483647; stored"
            ), (status { $0.detail = "a \"b\"" }, #"Diamond; detail="a \"b\"""#),
        ])
    func `a cache status is a member of the Cache-Status field`(status: CacheStatus, member: String) {
        #expect(status.description == member)
    }

    @Test(arguments: [
        ("a/b", "a/b; hit"), ("h.example:80", "h.example:80; hit"), ("a b", "\"a b\"; hit"), ("", "\"\"; hit"),
        ("1a", "\"1a\"; hit"),
    ])
    func `the name of the cache is a token or a string`(name: String, member: String) {
        #expect(Self.status { $0.isHit = true }.member(for: name) == member)
    }
}
