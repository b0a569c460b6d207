import HTTPTypes
import Testing

@testable import Diamond

@Suite("The parameters of a request") struct RequestParametersTests {
    @Test func `parameters are changed by subscript, in place`() {
        var parameters: Parameters = ["a": 1, "b": 2, "c": 3]
        parameters["b"] = "x"
        parameters["d"] = nil
        parameters["a"] = nil
        parameters["e"] = .null
        #expect(parameters == ["b": "x", "c": 3, "e": JSONValue.null])
    }

    @Test func `parameters keep order and repeated names`() {
        var parameters: Parameters = ["tag": "b", "tag": "a"]
        parameters.append("tag", "c")
        #expect(parameters.values(for: "tag") == ["b", "a", "c"])
        #expect(parameters["tag"] == "b")
        parameters["tag"] = "z"
        #expect(parameters == ["tag": "z"])
    }

    @Test(
        arguments: [
            (.get, nil, .query), (.head, nil, .query), (.delete, nil, .query), (.query, nil, .query),
            (.post, nil, .form),
            (.put, nil, .form), (.patch, nil, .form), (.post, .json(1), .query),
        ] as [(HTTPRequest.Method, RequestBody?, ParameterDestination)])
    func `parameters are sent in the query or in a form, by the method and the body`(
        method: HTTPRequest.Method, body: RequestBody?, place: ParameterDestination
    ) {
        #expect(Request("http://h/", method: method, parameters: ["a": 1], body: body).effectiveDestination == place)
    }

    @Test func `parameters become a JSON object if JSON is their destination`() throws {
        var request = Request("http://h/", method: .post, parameters: ["a": 1, "b": "x", "a": 2])
        request.destination = .json
        #expect(try WireRequest(request).body == .json(["a": [1, 2], "b": "x"]))
        request.body = .json(1)
        #expect(throws: RequestError.self) { try WireRequest(request) }
    }

    @Test func `parameters are percent-encoded, byte by byte`() throws {
        let request = Request("http://h/?x=1", parameters: ["a b": "ü&=+/?", "n": JSONValue.null, "t": true, "f": 1.5])
        let wire = try WireRequest(request)
        #expect(
            wire.url.text(adding: wire.parameterItems) == "http://h/?x=1&a%20b=%C3%BC%26%3D%2B%2F%3F&n&t=true&f=1.5")
    }
}
