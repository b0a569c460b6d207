import Foundation
import HTTPTypes
import Testing

@testable import Diamond

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("Responses and errors of URLSession") struct URLSessionResponseTests {
    @Test func `a URLSession response has a limited number of fields, however many cookies Foundation has joined`()
        throws
    {
        let url = try #require(URL(string: "http://h/"))
        let joined = Array(repeating: "a=", count: 70_000).joined(separator: ",")
        let response = try #require(
            HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: ["Set-Cookie": joined]))
        #expect(URLSessionResponse.head(of: response)?.headers.count == HTTPFields.mostReceived)
    }

    @Test(
        arguments: [
            (.cannotConnectToHost, .cannotConnect, false), (.notConnectedToInternet, .cannotConnect, false),
            (.dataNotAllowed, .cannotConnect, false), (.internationalRoamingOff, .cannotConnect, false),
            (.callIsActive, .cannotConnect, false), (.cannotFindHost, .cannotResolveHost, false),
            (.appTransportSecurityRequiresSecureConnection, .badURL, false),
            (.networkConnectionLost, .connectionLost, true), (.timedOut, .timedOut, true),
            (.serverCertificateUntrusted, .certificateRejected, false),
        ] as [(URLError.Code, TransportError.Code, Bool)])
    func `a URLSession error says whether the request may have been sent`(
        code: URLError.Code, meaning: TransportError.Code, isSent: Bool
    ) {
        let error = URLSessionResponse.failure(URLError(code))
        #expect(error.code == meaning && error.serverMayHaveActed == isSent)
    }
}
