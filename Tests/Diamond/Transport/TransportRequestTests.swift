import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A request for a transport") struct TransportRequestTests {
    @Test func `does not change with its copies`() {
        let request = TransportRequest(url: "http://h/", headers: [.accept: "text/plain"])
        var copy = request
        copy.method = .post
        copy.url = "http://h/other"
        copy.headers[.accept] = nil
        copy.body = .bytes(Data("body".utf8))
        copy.timeout = .seconds(1)
        copy.needsNewConnection = true
        copy.adaptation.isPersonal = true
        #expect(request.method == .get && request.url == "http://h/" && request.headers[.accept] == "text/plain")
        #expect(request.timeout == nil && !request.needsNewConnection && !request.adaptation.isPersonal)
        if case .none = request.body {} else { Issue.record("the body of the copy") }
        #expect(copy.method == .post && copy.url == "http://h/other" && copy.headers.isEmpty)
        #expect(copy.timeout == .seconds(1) && copy.needsNewConnection && copy.adaptation.isPersonal)
    }

    @Test(arguments: [
        (Duration.microseconds(1400), Duration.milliseconds(1)), (.seconds(-1), .zero), (.seconds(5), .seconds(5)),
    ])
    func `rounds and bounds its time limits`(time: Duration, bounded: Duration) {
        var request = TransportRequest(url: "http://h/", connectTimeout: time, timeout: time)
        #expect(request.connectTimeout == bounded && request.timeout == bounded)
        request.connectTimeout = nil
        request.timeout = nil
        #expect(request.connectTimeout == nil && request.timeout == nil)
        request.connectTimeout = time
        request.timeout = time
        #expect(request.connectTimeout == bounded && request.timeout == bounded)
    }
}
