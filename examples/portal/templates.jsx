// Templates of rjsf's Bootstrap theme, with words on buttons.
const button = "btn btn-sm btn-outline-primary";

function Title({ id, title, required, optionalDataControl }) {
  return (
    <div id={id} className="title">
      <h2>{title}{required && "*"}</h2>
      {optionalDataControl}
    </div>
  );
}

// Optional is the button that adds or removes an optional object or list.
function Optional({ id, onAddClick, onRemoveClick }) {
  const click = onAddClick ?? onRemoveClick;
  return click && <button id={id} type="button" className={button} onClick={click}>{onAddClick ? "Add" : "Remove"}</button>;
}

const withWord = (word) => ({ id, onClick, disabled }) => (
  <button id={id} type="button" className={`${button} text-nowrap`} onClick={onClick} disabled={disabled}>{word}</button>
);

// Choice shows the select and the fields of an option. There is no select before an optional object is added.
function Choice({ selector, optionSchemaField }) {
  return selector && <div>{selector}{optionSchemaField}</div>;
}

export const templates = {
  TitleFieldTemplate: Title,
  OptionalDataControlsTemplate: Optional,
  MultiSchemaFieldTemplate: Choice,
  ButtonTemplates: { AddButton: withWord("Add item"), RemoveButton: withWord("Remove") },
};
