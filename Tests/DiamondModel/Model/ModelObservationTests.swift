import DiamondModel
import Observation
import Testing

@Suite("The observation of a model") struct ModelObservationTests {
    @Test @MainActor func `observations on the main actor receive changes`() async throws {
        let person = Person()
        let names = Observations { person.name }
        var heard: [String] = []
        for await name in names {
            heard.append(name)
            if heard.count == 2 { break }
            person.name = "B"
        }
        #expect(heard == ["", "B"])
    }
}
