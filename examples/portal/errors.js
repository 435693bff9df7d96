// Validation with the messages of the forms.
import { customizeValidator } from "@rjsf/validator-ajv8";
import ajvErrors from "ajv-errors";

// The keyword errorMessage has messages for patterns.
export const validator = customizeValidator({ extenderFn: (ajv) => ajvErrors(ajv), suppressDuplicateFiltering: "oneOf" });

// transformErrors keeps the errors of one option of each choice, because ajv reports the errors of all options. Its messages have the field.
export function transformErrors(errors) {
  const choices = errors.filter(({ name }) => name === "oneOf").sort((a, b) => a.schemaPath.length - b.schemaPath.length);
  for (const choice of choices) {
    if (!errors.includes(choice)) {
      continue;
    }
    const options = Map.groupBy(
      errors.filter(({ schemaPath, property }) => schemaPath.startsWith(`${choice.schemaPath}/`) && property.startsWith(choice.property)),
      ({ schemaPath }) => schemaPath.slice(choice.schemaPath.length).split("/")[1],
    );
    // An option that forbids a field of the claim is not the selected one.
    const possible = [...options.values()].filter((all) => !all.some(({ schemaPath }) => /^\/\d+\/propertyNames/.test(schemaPath.slice(choice.schemaPath.length))));
    const kept = possible.length === 1 ? possible[0] : [{ ...choice, message: "requires the fields of one option" }];
    errors = errors.flatMap((error) => {
      if (error === choice) return kept;
      return [...options.values()].some((all) => all.includes(error)) ? [] : [error];
    });
  }
  return errors.map((error) => {
    const message = error.name === "required" ? "is required" : error.message;
    return { ...error, message, stack: `${error.property.replace(/^\./, "")}: ${message}` };
  });
}
