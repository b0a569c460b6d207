import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A validator of responses") struct ResponseValidatorTests {
    private func error(_ validator: ResponseValidator, _ response: Response) async -> ConnectionError.Code? {
        do { try await validator.validate(response) } catch { return (error as? ConnectionError)?.code }
        return nil
    }

    private func response(_ status: Int = 200, type: String? = nil, body: String = "{}") -> Response {
        var headers: HTTPFields = [:]
        headers[.contentType] = type
        return Response(status: .init(code: status), headers: headers, body: Data(body.utf8))
    }

    @Test(arguments: [
        (199, true), (200, false), (204, false), (299, false), (300, true), (304, true), (404, true), (500, true),
    ])
    func `a validator accepts statuses of 2xx by default`(status: Int, isBad: Bool) async {
        #expect(await error(ResponseValidator(), response(status)) == (isBad ? .badStatus : nil))
        #expect(await error(ResponseValidator(statuses: nil), response(status)) == nil)
    }

    @Test(arguments: [
        ("application/json", true), ("application/json; charset=utf-8", true), ("Application/JSON ;charset=x", true),
        ("application/json;\u{301}", true),
        ("text/json", true), ("text/javascript", true), ("application/problem+json", true), ("text/html", false),
        ("application/jsonp", false), ("", false), (nil, false),
    ])
    func `a validator recognizes JSON by its media types`(type: String?, isGood: Bool) async {
        #expect(await error(.json, response(type: type)) == (isGood ? nil : .badContentType))
    }

    @Test(arguments: ["", " "]) func `a validator accepts any content type of a blank body`(body: String) async {
        #expect(await error(.json, response(type: "text/html", body: body)) == nil)
    }

    @Test(arguments: [
        ("image/*", "image/png", true), ("image/*", "imagery/png", false), ("text/csv", "text/csv", true),
        ("+xml", "image/svg+xml", true), ("application/octet-stream", nil, true),
    ])
    func `a validator accepts whole types and suffixes`(pattern: String, type: String?, isGood: Bool) async {
        let validator = ResponseValidator(contentTypes: [pattern])
        #expect(await error(validator, response(type: type)) == (isGood ? nil : .badContentType))
    }
}
